import { useSignal } from "@preact/signals";
import { below, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Card } from "../../parts/facts";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";
import { TestBadge } from "./list";
import type { Connection, ConnectionAddress } from "./types";

/** The result of the last test, and a button for the next one. */
export function TestCard({ path, of: { lastTest }, reload }: { path: ConnectionAddress; of: Connection; reload: () => Promise<void> }) {
  const isTesting = useSignal(false);
  async function test() {
    if (isTesting.value) return;
    isTesting.value = true;
    try {
      await write("POST", below(path, "test"), { resource: path });
      await reload();
    } finally {
      isTesting.value = false;
    }
  }
  return (
    <Card
      title="Test"
      actions={
        isAdmin.value && (
          <button type="button" class="primary" aria-disabled={isTesting.value} onClick={() => void test().catch(toastError)}>
            {isTesting.value ? "Testing…" : "Test it"}
          </button>
        )
      }
    >
      <div aria-live="polite">
        {lastTest ? (
          <>
            <TestBadge of={lastTest} />
            <p class="test-message">{lastTest.message}</p>
            <p class="fine">
              <Time at={lastTest.testedAt} />
            </p>
          </>
        ) : (
          <p class="fine">It was not tested since its settings changed.</p>
        )}
      </div>
    </Card>
  );
}

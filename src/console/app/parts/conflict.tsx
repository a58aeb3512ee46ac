import { signal } from "@preact/signals";
import { Dialog } from "./dialog";
import { labelOf } from "./fields";

type Conflict = { mine: unknown; theirs: Record<string, unknown>; decide: (keepsMine: boolean) => void };

const conflict = signal<Conflict | undefined>(undefined);

/** Shows both versions. Resolves to true if the person's own change is to be written over the other. */
export function resolveConflict(mine: unknown, theirs: Record<string, unknown>) {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  conflict.value = {
    mine,
    theirs,
    decide(keepsMine) {
      conflict.value = undefined;
      resolve(keepsMine);
    },
  };
  return promise;
}

type Difference = { field: string; mine: string; theirs: string };

/** The fields in which the change differs from what stands there now. */
function compareVersions(mine: unknown, theirs: Record<string, unknown>): Difference[] {
  const fields = typeof mine === "object" && mine !== null ? Object.entries(mine) : [];
  return fields
    .map(([field, value]) => ({ field: labelOf(field), mine: describe(value), theirs: describe(theirs[field]) }))
    .filter((each) => each.mine !== each.theirs);
}

const describe = (value: unknown) => (typeof value === "string" ? value : (value ?? null) === null ? "—" : JSON.stringify(value));

export function ConflictDialog() {
  if (!conflict.value) return null;
  const { mine, theirs, decide } = conflict.value;
  const differences = compareVersions(mine, theirs);
  return (
    <Dialog title="This was changed meanwhile" onClose={() => decide(false)}>
      <p>It was changed after you opened it, and is now version {String(theirs.version)}. Which one shall stay?</p>
      {differences.length > 0 && (
        <table class="compare">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Yours</th>
              <th scope="col">Theirs</th>
            </tr>
          </thead>
          <tbody>
            {differences.map((each) => (
              <tr key={each.field}>
                <th scope="row">{each.field}</th>
                <td>{each.mine}</td>
                <td>{each.theirs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div class="dialog-actions">
        <button type="button" onClick={() => decide(false)}>
          Keep theirs
        </button>
        <button type="button" class="primary" onClick={() => decide(true)}>
          Save mine
        </button>
      </div>
    </Dialog>
  );
}

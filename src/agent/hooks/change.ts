import { isIP } from "node:net";
import { dirname } from "node:path";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";
import { fingerprintOf } from "../host/pem";
import type { Target } from "../store";
import type { UndoStep } from "../transaction/undo-step";

export type ChangeEvent = "installed" | "healed" | "removed";
/** The change of one assignment on the host, as the environment of the hooks. */
export type Change = Record<string, string>;

/** Letters that no shell takes for anything else, not even where a script forgot its quotes. */
const PLAIN_NAME = /^(\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}$/;
const PLAIN_PATH = /^\/[\w@%+=:,./-]{0,1023}$/;
/** Characters of a variable: the system takes no more than 128 KiB of one. */
const MAX_VALUE = 60_000;

/**
 * Returns what hooks learn of a change: the assignment, the certificate's names and the changed places. Names and places with
 * unusual characters are left out.
 */
export function changeOf(event: ChangeEvent, target: Target, certificate: string, undo: readonly UndoStep[]): Change {
  const paths = listOf(undo.flatMap(placeOf), (each) => PLAIN_PATH.test(each));
  const names = listOf(namesIn(certificate), (each) => PLAIN_NAME.test(each) || isIP(each) > 0);
  const isPresented = target.materialType.endsWith("_certificate") && event !== "removed";
  const [first] = paths;
  return {
    CERTITUDE_EVENT: event,
    CERTITUDE_ASSIGNMENT: target.assignmentId,
    CERTITUDE_STORE: target.storeType,
    CERTITUDE_FINGERPRINT: fingerprintOf(certificate),
    CERTITUDE_NAMES: names.join(" "),
    CERTITUDE_PATHS: paths.join(" "),
    ...(isPresented && first !== undefined && { RENEWED_DOMAINS: names.join(" "), RENEWED_LINEAGE: dirname(first) }),
  };
}

const placeOf = (step: UndoStep) => (step.kind === "file" ? [step.path] : step.kind === "run" && step.directory ? [step.directory] : []);

function namesIn(pem: string) {
  const [block] = readPem(pem);
  if (!block || "fault" in block) return [];
  const { dns, ip } = parseCertificate(block.bytes).facts.subjectAlternativeNames;
  return [...dns, ...ip];
}

/** The plain ones, each once, as far as a variable holds them. */
function listOf(values: string[], isPlain: (value: string) => boolean) {
  let length = 0;
  return [...new Set(values)].filter((each) => {
    if (!isPlain(each) || length + each.length >= MAX_VALUE) return false;
    length += each.length + 1;
    return true;
  });
}

/** How a script is told where to go and as whom. */
export const SETTINGS = `
declare const process: { env: Record<"SERVER" | "ORGANIZATION" | "TOKEN" | "STAFF" | "STAFF_TOKEN" | "PEM", string> };
const { SERVER, ORGANIZATION, TOKEN, STAFF, STAFF_TOKEN, PEM } = process.env;
const asAdmin = { authorization: \`Bearer \${TOKEN}\`, "x-organization-id": ORGANIZATION, "x-organization-role": "ORG_ADMIN" };
const asStaff = { authorization: \`Bearer \${STAFF_TOKEN}\`, "x-user-id": STAFF };
const settings = { horizonDays: 30 };
const config = { owner: "example", authMethod: "token" } as const;
const secrets = { token: "t" };
const position = { x: 0, y: 0, width: 6, height: 4 };
const nowhere = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c99";
`;

import { Badge, type Tone } from "../../../parts/badge";
import { Ring } from "../../../parts/charts/ring";
import { Time } from "../../../parts/time";
import { link } from "../../../router";
import type { DataWith } from "../types";
import { Nothing } from "./nothing";

type Health = DataWith<{ agents: unknown }>;

const TONES: Record<Health["agents"][number]["status"], Tone> = { online: "good", late: "warn", silent: "bad" };

export function AgentHealth({ of: { total, online, late, silent, groups, agents } }: { of: Health }) {
  if (total === 0) return <Nothing text="No agent has joined yet." />;
  const slices = (
    [
      ["online", online],
      ["late", late],
      ["silent", silent],
    ] as const
  ).map(([label, value]) => ({ label, value, tone: TONES[label] }));
  return (
    <>
      <Ring label="Agents" slices={slices} middle={total.toLocaleString()} />
      <ul class="items">
        {groups.map((group) => (
          <li key={group.name}>
            <span>{group.name}</span>
            <b>
              {group.online} of {group.total} online
            </b>
          </li>
        ))}
        {agents.map(({ agentId, name, status, lastSeenAt }) => (
          <li key={agentId}>
            <a href={link(`agents/${agentId}`)}>{name}</a>
            <span class="badges">
              <Time at={lastSeenAt} relative />
              <Badge tone={TONES[status]} text={status} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

export function AssignmentDrift({ of: { total, items } }: { of: DataWith<{ items: { assignmentId: unknown }[] }> }) {
  if (total === 0) return <Nothing text="Every assignment is as it should be." />;
  return (
    <ul class="items">
      {items.map(({ assignmentId, agentId, agentName, commonName, reason, message }) => (
        <li key={assignmentId}>
          <span class="item-text" title={message ?? ""}>
            {commonName} on <a href={link(`agents/${agentId}`)}>{agentName}</a>
          </span>
          <Badge tone={reason === "failed" || reason === "refused" ? "bad" : "warn"} text={reason} />
        </li>
      ))}
    </ul>
  );
}

/** Darker where there are more assignments; the numbers are in the cells. */
export function TrustStoreCoverage({ of: { rows, columns, cells } }: { of: DataWith<{ cells: unknown }> }) {
  if (columns.length === 0) return <Nothing text="No agent has joined yet." />;
  const most = Math.max(1, ...cells.map(({ assignments }) => assignments));
  return (
    <table class="heat">
      <thead>
        <tr>
          <th scope="col">Store</th>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, displayName }) => (
          <tr key={key}>
            <th scope="row">{displayName}</th>
            {columns.map((column) => {
              const cell = cells.find((each) => each.row === key && each.column === column);
              const level = cell ? Math.ceil((3 * cell.assignments) / most) : 0;
              return (
                <td key={column} class={`heat-${level}`} title={cell ? `${cell.assignments} assignments on ${cell.agents} agents` : ""}>
                  {cell?.assignments ?? "–"}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

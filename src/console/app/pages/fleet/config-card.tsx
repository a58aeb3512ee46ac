import { Card, Facts } from "../../parts/facts";
import type { Config } from "./types";

export const ConfigCard = ({ of }: { of: Config }) => (
  <Card title="Config of the store">
    <Facts of={Object.entries(of).map(([name, value]) => [name, <code key={name}>{[value].flat().join(" ")}</code>] as const)} />
  </Card>
);

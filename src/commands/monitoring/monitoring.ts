import { Argument, type Command } from "commander";
import { renderDashboard } from "./dashboard";
import { renderRules } from "./rules";

const RENDERERS = { rules: renderRules, dashboard: renderDashboard };

export const addMonitoring = (program: Command) =>
  program
    .command("monitoring")
    .addArgument(new Argument("<what>", "what to print").choices(Object.keys(RENDERERS)))
    .description("Print alert rules for Prometheus, or a dashboard for Grafana.")
    .addHelpText("after", "\nBoth are about what /metrics shows, scraped as the job certitude with METRICS_TOKEN. JSON, which Prometheus reads as YAML.")
    .action((what: keyof typeof RENDERERS) => console.info(RENDERERS[what]()));

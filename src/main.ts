#!/usr/bin/env bun
import { run } from "./commands/program";

await run(process.argv);

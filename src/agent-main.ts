#!/usr/bin/env bun
import { run } from "#commands/agent-program";

void run(process.argv);

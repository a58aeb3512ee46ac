import { afterAll } from "bun:test";
import { world } from "./support/server/world";

afterAll(() => world.stop());

import { afterAll } from "bun:test";
import { world } from "./support/world";

afterAll(() => world.stop());

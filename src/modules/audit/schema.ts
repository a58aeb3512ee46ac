import { t } from "elysia";
import { Answer, OneOf, Uuid } from "../../http/schema";

const who = {
  type: OneOf(["user", "gateway", "agent", "ingest-key", "worker", "server", "command-line"]),
  id: t.Optional(Uuid),
  role: t.Optional(OneOf(["ORG_ADMIN", "ORG_MEMBER"])),
};

export const Actor = Answer({ ...who, via: t.Optional(Answer(who, { description: "Who sent the header that names the actor" })) }, { title: "Actor" });

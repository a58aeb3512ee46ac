import { t } from "elysia";
import { Integer, OneOf } from "#http/schema";
import { BUCKETS } from "../rules/settings";

export const Count = (of: string) => Integer({ minimum: 0, description: `How many ${of}` });
export const Name = (of: string) => t.String({ description: `The name of ${of}` });
export const CommonName = t.String({ description: "The certificate's" });
export const Bucket = OneOf(BUCKETS, { description: "How long a step is" });

import type { Values } from "#catalogue/fields";
import type { Call, Reply } from "#outbound/call";
import { codeOf, describeFailure } from "#outbound/failure";
import type { Limits } from "#outbound/http-client";
import { teamsCall } from "../rules/formats/microsoft-teams";
import { pagerdutyCall } from "../rules/formats/pagerduty";
import { judgeSlack, slackCall } from "../rules/formats/slack";
import { webhookCall } from "../rules/formats/webhook";
import type { Message } from "../rules/message";
import { fail, judgeStatus, type Outcome } from "../rules/outcome";

/** Makes a call; `send` of outbound. */
export type Reach = (call: Call, limits: Limits) => Promise<Reply>;
type Format = {
  call: (values: Values, message: Message, now: Date) => Call | { missing: string };
  judge?: (values: Values, reply: Reply, now: Date) => Outcome;
};

const FORMATS: Record<string, Format> = {
  webhook: { call: webhookCall },
  slack: { call: slackCall, judge: ({ mode }, reply, now) => judgeSlack(mode, reply, now) },
  microsoft_teams: { call: teamsCall },
  pagerduty: { call: pagerdutyCall },
};

/** Failures that the same request would meet again. */
const FINAL = /^(PRIVATE_TARGET|ERR_(INVALID_CHAR|INVALID_HTTP|HTTP_INVALID).*)$/;

type HttpDelivery = { kind: string; values: Values; message: Message; now: Date };

/** Delivers a message to a channel by HTTP, in one request. */
export async function deliverByHttp({ kind, values, message, now }: HttpDelivery, limits: Limits, reach: Reach): Promise<Outcome> {
  const format = FORMATS[kind];
  if (!format) return fail(`A connection of the kind ${kind} delivers nothing.`, true);
  const call = format.call(values, message, now);
  if ("missing" in call) return fail(`The connection has no ${call.missing}, which it needs to deliver.`, true);
  try {
    const reply = await reach(call, limits);
    return format.judge?.(values, reply, now) ?? judgeStatus(reply, now);
  } catch (error) {
    if (limits.signal.aborted) return fail("It did not answer in time.", false);
    return fail(describeFailure(error), FINAL.test(codeOf(error)));
  }
}

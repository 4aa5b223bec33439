import type { PayloadKind } from '../../src/notify/webhook/payload-kind.ts'

/** What a receiver sorts by: the time that its service gives, and what sorts events of the same time, as docs/webhooks.md says. */
export const sortFields: Record<PayloadKind, (body: any) => [time: number, tie: string | undefined]> = {
  standard: ({ created_at: time, id }) => [Date.parse(time), id],
  extended: ({ created_at: time, id }) => [Date.parse(time), id],
  sendgrid: ([{ timestamp, sg_event_id: id }]) => [timestamp, id],
  postmark: (body) => [Date.parse(body.DeliveredAt ?? body.BouncedAt ?? body.ReceivedAt ?? body.ChangedAt), body.EventID],
  // The signature's envelope is around it once it is posted.
  mailgun: ({ 'event-data': event, ...bare }) => [(event ?? bare).timestamp, (event ?? bare).id],
  resend: ({ created_at: time, id }) => [Date.parse(time), id],
  postal: ({ timestamp, uuid }) => [timestamp, uuid],
}

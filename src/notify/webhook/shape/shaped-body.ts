import type { ServiceShape } from '../payload-kind.ts'
import type { EventDetails } from '../event-details.ts'
import { mailgunEvent } from './mailgun-event.ts'
import { postalEvent } from './postal-event.ts'
import { postmarkEvent } from './postmark-event.ts'
import { resendEvent } from './resend-event.ts'
import { sendGridEvent } from './sendgrid-event.ts'

const shapes: Record<ServiceShape, (event: EventDetails) => object | null> = {
  // Events come in arrays, here with one event each.
  sendgrid: (event) => [sendGridEvent(event)],
  postmark: postmarkEvent,
  // The signature is added around it at each attempt.
  mailgun: mailgunEvent,
  resend: resendEvent,
  postal: postalEvent,
}

/** An event in another service's format, as JSON; null if that service has none for it. */
export function shapedBody(shape: ServiceShape, event: EventDetails): string | null {
  const body = shapes[shape](event)
  return body === null ? null : JSON.stringify(body)
}

import type { ServiceShape } from '../payload-kind.ts'
import type { ToldEvent } from '../told-event.ts'
import { mailgunEvent } from './mailgun-event.ts'
import { postalEvent } from './postal-event.ts'
import { postmarkEvent } from './postmark-event.ts'
import { resendEvent } from './resend-event.ts'
import { sendGridEvent } from './sendgrid-event.ts'

const shapes: Record<ServiceShape, (event: ToldEvent) => object | null> = {
  // Events come in arrays, here of one each.
  sendgrid: (event) => [sendGridEvent(event)],
  postmark: postmarkEvent,
  // Its signature, made at each attempt, is put around it.
  mailgun: mailgunEvent,
  resend: resendEvent,
  postal: postalEvent,
}

/** An event in the form of another service, as JSON; null where that service has no word for it. */
export function shapedBody(shape: ServiceShape, event: ToldEvent): string | null {
  const body = shapes[shape](event)
  return body === null ? null : JSON.stringify(body)
}

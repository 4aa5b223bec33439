import type { Accepted } from '../../mail-in/submission/admission.ts'
import type { ReplyHeaders } from '../operation/call.ts'

/** As many as one email can have. Clients refuse an answer whose header has more than 16 KB, and would send the emails again. */
const maxTold = 50

/** Tells which header fields of these emails were left out, because their messages have their own. */
export function tellDropped(reply: ReplyHeaders, emails: readonly Pick<Accepted, 'droppedHeaders'>[]): void {
  const names = new Map(emails.flatMap(({ droppedHeaders }) => (droppedHeaders ?? []).map((name) => [name.toLowerCase(), name])))
  if (names.size > 0) reply.set('Dropped-Headers', [...names.values()].slice(0, maxTold).join(', '))
}

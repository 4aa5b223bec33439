import { senderOf } from './automatic-reply.ts'
import type { ReturnedMessage } from './returned-message.ts'

/**
 * Who wrote a message, as far as its From field tells. `daemon`: nobody but a mail system. `postmaster`: a mail system or the person who runs
 * it. `program`: a program that handles mail. `machine`: a gateway, or an address that nobody reads. `desk`: people in a role. `person`: somebody
 * with a name. `unknown`: a bare address.
 */
export type SenderKind = 'daemon' | 'postmaster' | 'program' | 'machine' | 'desk' | 'person' | 'unknown'

const postmaster = /post[._-]?master/gi

export function senderKind(message: ReturnedMessage): SenderKind {
  const sender = senderOf(message)
  if (message.has('x-failed-recipients') || message.says(sender.replace(postmaster, ' '), 'mailSystem')) return 'daemon'
  const isProgram = /^(?:<>)?$/.test(message.field('from')) || message.says(sender, 'reportingSystem')
  if (message.says(sender, 'mailSystem') && !isProgram) return 'postmaster'
  if (message.says(sender, 'desk')) return message.says(sender, 'mailSystem') ? 'program' : 'desk'
  if (isProgram) return 'program'
  if (message.says(sender, 'machine')) return 'machine'
  return /^\s*[^\s<@]/.test(message.field('from').replace(/^\s*\S{1,320}@\S{0,320}/, '')) ? 'person' : 'unknown'
}

import { textPart } from '../../mail/message/compose-parts.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { isoTime } from '../../platform/iso-time.ts'

/** What happened to an account. */
export interface HarmNotice {
  accountId: string
  account: string
  reason: string
  /** Epoch, ms; null: it is suspended. */
  slowedUntil: number | null
  slowedPerMinute: number
  server: string
}

/** The mail about it to a user of the account. */
export const composeUserMail = (to: string, notice: HarmNotice): SystemMail =>
  mailTo(to, notice, [whatHappened(notice), notice.reason, nextStepOfUser(notice)])

/** The mail about it to the operator. */
export const composeOperatorMail = (to: string, notice: HarmNotice): SystemMail =>
  mailTo(to, notice, [whatHappened(notice), notice.reason, nextStepOfOperator(notice)])

const mailTo = (to: string, { account, slowedUntil }: HarmNotice, paragraphs: string[]): SystemMail => ({
  to,
  subject: `The account "${account}" was ${slowedUntil === null ? 'suspended' : 'slowed'}`,
  autoSubmitted: 'auto-generated',
  multipart: 'mixed',
  parts: [textPart(`${paragraphs.join('\n\n')}\n`)],
})

const whatHappened = ({ account, server, slowedUntil, slowedPerMinute }: HarmNotice): string =>
  slowedUntil === null
    ? `The account "${account}" at ${server} is suspended: it cannot send, and its queued mail is held. No mail is lost.`
    : `The account "${account}" at ${server} may mail only ${slowedPerMinute} recipients a minute until ${isoTime(slowedUntil)}. Mail ` +
      'beyond that is refused with the request to try again later. Mail that is already queued still goes out.'

const nextStepOfUser = ({ slowedUntil }: HarmNotice): string =>
  'Look at the bounces and complaints in the dashboard. Remove from your lists those addresses, and all that nobody has confirmed, and ' +
  (slowedUntil === null
    ? 'then ask the operator of the server to resume the account.'
    : 'send only to people who want the mail. If it goes on, the account is suspended.')

const nextStepOfOperator = ({ accountId, slowedUntil }: HarmNotice): string =>
  `Its users were told. ${slowedUntil === null ? 'Once they have cleaned up their lists' : 'To end this earlier'}, resume it with ` +
  `"sterna account resume ${accountId}", the API or the dashboard. Bounces and complaints then count from zero. ` +
  `"sterna account harm-limits ${accountId}" shows and changes its limits.`

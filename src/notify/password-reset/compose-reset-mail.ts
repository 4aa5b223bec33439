import { textPart } from '../../mail/message/compose-parts.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { escaped, htmlPart, momentText } from './mail-page.ts'

/** A request for another password, and the link that answers it. */
interface ResetMail {
  /** The user's address. */
  to: string
  /** Where the new password is set. */
  link: string
  /** This server's public URL. */
  server: string
  /** The account's name, if others have a user with this address too. */
  account: string | null
  /** The address of the client that asked. */
  askedFrom: string
  /** When, epoch, ms. */
  askedAt: number
  /** How long the link works, minutes. */
  minutes: number
}

/** The mail to a user who has forgotten the password: for people in plain text and HTML, with the same words in both. */
export function composeResetMail(mail: ResetMail): SystemMail {
  return {
    to: mail.to,
    subject: `Set a new password for ${new URL(mail.server).host}`,
    autoSubmitted: 'auto-generated',
    multipart: 'alternative',
    parts: [textPart(textOf(mail)), htmlPart('Set a new password', htmlOf(mail))],
    // Later it would be of no use.
    expiresIn: mail.minutes * 60,
  }
}

const greeting = ({ to, server, account }: ResetMail): string =>
  `Somebody asked for a new password for ${to}${account === null ? '' : ` in the account "${account}"`} at ${server}.`

const howLong = ({ minutes }: ResetMail): string =>
  `The link works once, for ${minutes} minutes. When you use it, all your sessions end. If you have a second factor, it stays.`

const whoAsked = ({ askedFrom, askedAt }: ResetMail): string => `The request came from the address ${askedFrom}, on ${momentText(askedAt)}.`

const notYou =
  'If that was not you, do nothing: your password stays as it is, and without this mail nobody can change it. ' +
  'If it happens again, tell whoever runs the server.'

const textOf = (mail: ResetMail): string =>
  [greeting(mail), `Set it here:\n${mail.link}`, howLong(mail), `${whoAsked(mail)}\n${notYou}`].join('\n\n') + '\n'

const button =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#0a5ca8;color:#ffffff;text-decoration:none;font-weight:600'

const htmlOf = (mail: ResetMail): string => `<p>${escaped(greeting(mail))}</p>
<p><a href="${escaped(mail.link)}" style="${button}">Set a new password</a></p>
<p>${escaped(howLong(mail))}</p>
<p>${escaped(whoAsked(mail))}<br>${escaped(notYou)}</p>
<p style="font-size:13px">If the button does not work, copy this address:<br>${escaped(mail.link)}</p>`

import { textPart } from '../../mail/message/compose-parts.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { escaped, htmlPart, momentText } from './mail-page.ts'

/** What users are told of, in words that follow their address. */
const changes = {
  password: 'the password was changed. All sessions have ended, but for the one that changed it.',
  link: 'a new password was set with a link that somebody got by mail or from whoever runs the server. All sessions have ended.',
  invitation:
    'a new password was set with a link from an administrator. The second factor and all passkeys were removed, and all sessions ended.',
  second_factor_added: 'a second factor was turned on, with new recovery codes.',
  second_factor_removed: 'the second factor and its recovery codes were removed. The password alone logs in again.',
  passkey_added: 'a passkey was added. It logs in without the password.',
  passkey_removed: 'a passkey was removed.',
} as const

/** A change to how a user logs in. */
export type LoginChange = keyof typeof changes

interface ChangeMail {
  /** The user's address. */
  to: string
  change: LoginChange
  /** This server's public URL. */
  server: string
  /** The account's name, if others have a user with this address too. */
  account: string | null
  /** The address of the client that made the change. */
  address: string
  /** What the client's program calls itself; '' if it says nothing. */
  userAgent: string
  /** Epoch, ms. */
  at: number
}

/** characters; some programs write a page about themselves */
const maxAgentLength = 200

/** The mail to a user about a change to how they log in: in plain text and HTML, with the same words in both. */
export function composeChangeMail(mail: ChangeMail): SystemMail {
  const { host } = new URL(mail.server)
  const subject = `${subjects[mail.change]} at ${host}`
  const paragraphs = [whatChanged(mail), whoDid(mail), isItYou, notYou(mail)]
  return {
    to: mail.to,
    subject,
    autoSubmitted: 'auto-generated',
    multipart: 'alternative',
    parts: [
      textPart(`${paragraphs.join('\n\n')}\n`),
      htmlPart(subject, paragraphs.map((paragraph) => `<p>${escaped(paragraph)}</p>`).join('\n')),
    ],
  }
}

const subjects: Record<LoginChange, string> = {
  password: 'Your password was changed',
  link: 'Your password was changed',
  invitation: 'Your password was changed',
  second_factor_added: 'A second factor was turned on',
  second_factor_removed: 'Your second factor was removed',
  passkey_added: 'A passkey was added',
  passkey_removed: 'A passkey was removed',
}

const whatChanged = ({ to, account, server, change }: ChangeMail): string =>
  `For ${to}${account === null ? '' : ` in the account "${account}"`} at ${server}, ${changes[change]}`

function whoDid({ at, address, userAgent }: ChangeMail): string {
  const agent = userAgent
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .slice(0, maxAgentLength)
    .toWellFormed()
    .trim()
  return `That was on ${momentText(at)}, from the address ${address}${agent === '' ? '' : `, with ${agent}`}.`
}

const isItYou = 'If that was you, there is nothing to do.'

const notYou = ({ server }: ChangeMail): string =>
  `If it was not, ask for a new password at ${server}, which ends all sessions. Then look at your passkeys and your second factor, and tell ` +
  'whoever runs the server.'

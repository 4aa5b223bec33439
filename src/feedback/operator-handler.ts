import { isAscii } from 'node:buffer'
import type { Clock } from '../clock.ts'
import { clientNetwork } from '../ip-address.ts'
import { isoTime } from '../iso-time.ts'
import type { Log } from '../log.ts'
import { textPart, wholePart, type MimePart } from '../message/compose-parts.ts'
import { encodeTransfer, hasShortLines } from '../message/transfer-encoding.ts'
import { minuteMs, RateLimiter } from '../rate-limiter.ts'
import { UniqueError } from '../store/database.ts'
import type { SystemMail, SystemMailer } from '../submission/system-mail.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import { forwardedField, readHeading, type MailHeading } from './mail-heading.ts'
import { withoutEffect, type ReturnedMailHandler } from './returned-mail-handler.ts'

interface OperatorHandlerServices {
  clock: Clock
  log: Log
  systemMail: Pick<SystemMailer, 'send'>
}

interface OperatorHandlerSettings {
  hostname: string
  /** Null: the mail is only kept. */
  operatorEmail: string | null
}

const hourMs = 60 * minuteMs
/**
 * Messages that are handed on within an hour, and of these, those that programs sent (what goes round in circles is one of them),
 * and those of one network, so that nobody alone keeps the mail of all others from the operator.
 */
const perHour = { all: 100, automatic: 20, ofNetwork: 20 }

/**
 * Mail for postmaster and abuse. It is handed on to the operator within a message of the server's own, so that neither
 * the sender's name nor ours vouches for what is not theirs, and never twice or in circles.
 */
export function operatorHandler(
  { clock, log, systemMail }: OperatorHandlerServices,
  { hostname, operatorEmail }: OperatorHandlerSettings,
): ReturnedMailHandler {
  const rateOf = (limit: number): RateLimiter => new RateLimiter(clock, { limit, windowMs: hourMs })
  const rate = { all: rateOf(perHour.all), automatic: rateOf(perHour.automatic), ofNetwork: rateOf(perHour.ofNetwork) }
  const mayForward = (isAutomatic: boolean, network: string): boolean =>
    rate.ofNetwork.take(network) === 0 && (!isAutomatic || rate.automatic.take('all') === 0) && rate.all.take('all') === 0
  return async (mail, content) => {
    const heading = readHeading(content, hostname)
    const summary = { from: heading.from, subject: heading.subject }
    if (operatorEmail === null) return withoutEffect('stored', summary)
    if (heading.isOwn || !mayForward(heading.isAutomatic || mail.reversePath === null, clientNetwork(mail.remoteAddress))) {
      log.warn(
        { returnedMailId: mail.id, isOwn: heading.isOwn },
        'mail for the operator is kept and not handed on: it is our own, or there was too much within an hour',
      )
      return withoutEffect('not_forwarded', summary)
    }
    const forward = composeForward(mail, content, heading, { hostname, to: operatorEmail })
    // One id for one report: where the relay stopped before it was settled, the message is there already.
    await systemMail.send(forward, [], `em_${mail.id.slice('rep_'.length)}`).catch((error: unknown) => {
      if (!(error instanceof UniqueError)) throw error
    })
    return withoutEffect('forwarded', summary)
  }
}

function composeForward(
  mail: ReturnedMail,
  content: Uint8Array,
  heading: MailHeading,
  { hostname, to }: { hostname: string; to: string },
): SystemMail {
  const { forwardPath, reversePath, remoteAddress, receivedAt } = mail
  const text = [
    `This mail came to ${forwardPath} at ${hostname}. It is handed on to you because the setting operator_email names you.`,
    'Whoever wants to answer writes to its author: nobody reads an answer to this message.',
    '',
    `Author as the mail has it: ${heading.from || '(none)'}`,
    `Envelope sender: <${reversePath ?? ''}>`,
    `Handed over by: ${remoteAddress}`,
    `Time: ${isoTime(receivedAt)}`,
    '',
    'Nothing of this is proved but the last two. The mail is attached as it came.',
    '',
  ]
  return {
    to,
    subject: `Mail to ${forwardPath}: ${heading.subject || '(no subject)'}`,
    autoSubmitted: 'auto-generated',
    headers: { [forwardedField]: [...heading.forwardedBy, hostname].join(', ') },
    multipart: 'mixed',
    parts: [textPart(text.join('\r\n')), attached(content)],
  }
}

function attached(content: Uint8Array): MimePart {
  const fields = ['Content-Description: The mail as it came', 'Content-Disposition: attachment; filename="mail.eml"']
  const bytes = Buffer.from(content)
  // A message within the message takes no encoding.
  if (hasShortLines(bytes)) return wholePart(isAscii(headerOf(bytes)) ? 'message/rfc822' : 'message/global', bytes, fields)
  return {
    contentType: 'application/octet-stream',
    fields,
    encoding: 'base64',
    bytes: Buffer.concat([encodeTransfer(bytes, 'base64').bytes, Buffer.from('\r\n')]),
  }
}

function headerOf(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n\r\n')
  return end === -1 ? bytes : bytes.subarray(0, end)
}

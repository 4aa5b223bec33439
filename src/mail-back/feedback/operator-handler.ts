import type { BaseServices } from '../../platform/base-services.ts'
import { isAscii } from 'node:buffer'
import { clientNetwork } from '../../platform/ip-address.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { textPart, wholePart, type MimePart } from '../../mail/message/compose-parts.ts'
import { encodeTransfer, hasShortLines } from '../../mail/message/transfer-encoding.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { CountedUses } from '../../platform/store/counted-uses.ts'
import { UniqueError } from '../../platform/store/database.ts'
import type { SystemMail, SystemMailer } from '../../mail-in/submission/system-mail.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import { forwardedField, readHeading, type MailHeading } from './mail-heading.ts'
import { withoutEffect, type ReturnedMailHandler } from './returned-mail-handler.ts'

interface OperatorHandlerServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  systemMail: Pick<SystemMailer, 'send'>
}

interface OperatorHandlerSettings {
  hostname: string
  /** Null: store the mail, but forward none. */
  operatorEmail: string | null
}

const hourMs = 60 * minuteMs
/**
 * Limits on forwarding per hour: in all, for automatic mail (which includes loops), and for one network, so
 * that no sender can crowd out the others.
 */
const perHour = { all: 100, automatic: 20, ofNetwork: 20 }

/**
 * Handles mail to postmaster and abuse. Forwards it to the operator as an attachment to a message of our own, so that our domain does not
 * vouch for the sender, nor the sender's for us. Forwards nothing twice and prevents loops.
 */
export function operatorHandler(
  services: OperatorHandlerServices,
  { hostname, operatorEmail }: OperatorHandlerSettings,
): ReturnedMailHandler {
  const { log, systemMail } = services
  const limitOf = (kind: keyof typeof perHour) =>
    new CountedUses(services, { name: `mail for the operator: ${kind}`, limit: perHour[kind], windowMs: hourMs })
  const limits = { all: limitOf('all'), automatic: limitOf('automatic'), ofNetwork: limitOf('ofNetwork') }
  const isCounted = async (kind: keyof typeof perHour, key: string) => (await limits[kind].take(key)).waitMs === 0
  const mayForward = async (isAutomatic: boolean, network: string): Promise<boolean> =>
    (await isCounted('ofNetwork', network)) && (!isAutomatic || (await isCounted('automatic', ''))) && isCounted('all', '')
  return async (mail, content) => {
    const heading = readHeading(content, hostname)
    const summary = { from: heading.from, subject: heading.subject }
    if (operatorEmail === null) return withoutEffect('stored', summary)
    if (heading.isOwn || !(await mayForward(heading.isAutomatic || mail.reversePath === null, clientNetwork(mail.remoteAddress)))) {
      log.warn(
        { returnedMailId: mail.id, isOwn: heading.isOwn },
        'mail for the operator was stored but not forwarded: it is our own, or the hourly limit was reached',
      )
      return withoutEffect('not_forwarded', summary)
    }
    const forward = composeForward(mail, content, heading, { hostname, to: operatorEmail })
    // The id derives from the returned message. If the relay stopped before settling it, the forward already exists.
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
  const { forwardPath, reversePath, remoteAddress, receivedAt, requireTls } = mail
  const text = [
    `This mail came to ${forwardPath} at ${hostname}. It is forwarded to you because the setting operator_email has your address.`,
    'To reply, write to its author. Nobody reads replies to this message.',
    '',
    `From, as the mail says: ${heading.from || '(none)'}`,
    `Envelope sender: <${reversePath ?? ''}>`,
    `Received from: ${remoteAddress}`,
    `Time: ${isoTime(receivedAt)}`,
    '',
    'Only the last two are certain. The original mail is attached.',
    '',
  ]
  return {
    to,
    subject: `Mail to ${forwardPath}: ${heading.subject || '(no subject)'}`,
    autoSubmitted: 'auto-generated',
    headers: { [forwardedField]: [...heading.forwardedBy, hostname].join(', ') },
    ...(requireTls && { transfer: { requireTls } }),
    multipart: 'mixed',
    parts: [textPart(text.join('\r\n')), attached(content)],
  }
}

/** What hosts refuse, or read in different ways. */
const unfitForSmtp = /\r(?!\n)|(?<!\r)\n|\0/

function attached(content: Uint8Array): MimePart {
  const fields = ['Content-Description: The original mail', 'Content-Disposition: attachment; filename="mail.eml"']
  const bytes = Buffer.from(content)
  // A `message/rfc822` part may not be encoded (RFC 2046 5.2.1).
  if (hasShortLines(bytes) && !unfitForSmtp.test(bytes.toString('latin1')))
    return wholePart(isAscii(headerOf(bytes)) ? 'message/rfc822' : 'message/global', bytes, fields)
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

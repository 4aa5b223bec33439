import { isIP } from 'node:net'
import { formatDate } from '../../mail/message/format-field.ts'
import type { SmtpClient } from './smtp-session.ts'

interface TraceServices {
  client: SmtpClient
  /** Whether the field says who the client is. */
  namesClient: boolean
  /** Ours. */
  hostname: string
  /** Our id of the message. */
  id: string
  smtputf8: boolean
  /** Whether the client had logged in. */
  authenticated: boolean
  /** Epoch, ms. */
  now: number
}

/** The Received field for a message from this client (RFC 5321 4.4, RFC 3848, RFC 6531 4.3), without its final CRLF. */
export function traceField({ client, namesClient, hostname, id, smtputf8, authenticated, now }: TraceServices): string {
  const protocol = `${smtputf8 ? 'UTF8SMTP' : 'ESMTP'}${client.secure ? 'S' : ''}${authenticated ? 'A' : ''}`
  const taken = `by ${hostname} with ${protocol} id ${id};\r\n ${formatDate(now)}`
  if (!namesClient) return `Received: ${taken}`
  // The client's name is any text; in a comment or as a word it could make claims about us.
  const name = /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Za-z.:]{1,64}\])$/.test(client.ehloName) ? client.ehloName : 'unknown'
  const literal = isIP(client.address) === 6 ? `IPv6:${client.address}` : client.address
  return `Received: from ${name} ([${literal}])\r\n ${taken}`
}

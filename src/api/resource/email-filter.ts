import type { QueryValues } from '../operation/operation.ts'
import { z } from 'zod'
import { emailStatuses } from '../../mail/message/email-status.ts'
import type { MessageFilter, SoughtAddress } from '../../mail/message/message-filter.ts'
import { isTagValue, tagName } from '../../mail/message/send-limits.ts'
import { endPattern, partPattern } from '../../mail/message/text-pattern.ts'
import { parseDomain, isFullName } from '../../platform/smtp/domain-name.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import { choicesParameter, endParameter, timeParameter } from '../operation/query.ts'

/** `name`, or `name=value` as the header X-Tags has it. */
const tagParameter = z.string().transform((text, ctx) => {
  const [given = '', ...rest] = text.trim().split('=')
  const value = rest.length === 0 ? null : rest.join('=')
  if (tagName.test(given) && (value === null || isTagValue(value))) return { name: given, value }
  ctx.addIssue('must be the name of a tag, or name=value')
  return z.NEVER
})

/** Longer than any address with its name, or a subject that somebody remembers. */
const maxPartLength = 500

/** What somebody typed or pasted; null where there is nothing to see in it. */
const partParameter = z
  .string()
  .transform((text) => text.replace(/\p{Cc}+/gu, ' ').trim())
  .refine((text) => text.length <= maxPartLength, { error: `must have at most ${maxPartLength} characters` })
  .transform((text) => (text === '' ? null : text.normalize('NFC')))

const soughtAddress = partParameter.transform((text): SoughtAddress | null => {
  if (text === null) return null
  const pasted = parsePasted(text)
  // `ann@inb` is more likely the beginning of an address than one at a host without a dot.
  if (pasted.ok && isFullName(domainOf(pasted.address))) return { address: pasted.address }
  const domain = text.startsWith('@') ? parseDomain(text.slice(1)) : null
  return { pattern: domain?.ok && isFullName(domain.domain) ? endPattern(`@${domain.domain}`) : partPattern(text) }
})

const addressForms = 'with or without a name, `@example.com` for all at a domain, or a part of an address'

export const filterParameters = {
  status: choicesParameter(emailStatuses),
  to: soughtAddress.meta({ description: `The address of a recipient, in to, cc or bcc: ${addressForms}.` }),
  from: soughtAddress.meta({ description: `The address in From: ${addressForms}.` }),
  subject: partParameter.meta({ description: 'A part of the subject, in any case.' }),
  message_id: partParameter.meta({ description: 'The Message-ID field, with or without angle brackets.' }),
  domain_id: z
    .string()
    .regex(/^dom_[0-9a-z]{26}$/, { error: 'must be the id of a domain' })
    .meta({ description: 'The domain that signed the email.' }),
  tag: tagParameter.meta({ description: 'The name of a tag, or `name=value`.' }),
  since: timeParameter.meta({ description: 'Accepted at or after this time, such as 2026-11-21T06:00:00Z or a date.' }),
  until: endParameter.meta({ description: 'Accepted before this time, or up to the end of this date.' }),
}

export function messageFilter({
  message_id: messageId,
  domain_id: domainId,
  ...others
}: QueryValues<typeof filterParameters>): MessageFilter {
  const messageIdHeader = messageId === null ? null : `<${messageId.replace(/^<|>$/g, '')}>`
  return { ...others, messageIdHeader, domainId }
}

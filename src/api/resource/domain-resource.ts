import { z } from 'zod'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import { domainStatuses, type Domain, recordReasons, recordStatuses } from '../../senders/sending-domain/domain.ts'
import { domainObject } from '../../senders/sending-domain/domain-object.ts'
import { nextCheckAt, stopsAt } from '../../senders/sending-domain/domain-check.ts'
import { recordPurposes, returnPathOf, zoneOf } from '../../senders/sending-domain/domain-records.ts'
import type { StatedRecord } from '../../senders/sending-domain/record-states.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { referenceTo, resource, time, timeOrNull, timeAnswer } from '../operation/resource.ts'

const domainRecord = resource<StatedRecord>('DomainRecord')({
  record: z.enum(recordPurposes).describe('What the record is for; both records of the return path are SPF.'),
  name: z.string().describe('The full name, without a trailing dot.'),
  host: z.string().describe('The name without the zone, as most DNS providers ask for it; `@` for the zone itself.'),
  required: [z.boolean().describe('Whether mail cannot be sent without it.'), 'isRequired'],
  type: z.enum(['TXT', 'MX', 'CNAME']),
  value: z.string().describe('The text, or only the host.'),
  priority: z.int().optional().describe('For an MX record.'),
  ttl: 'Auto',
  status: z.enum(recordStatuses).describe('`temporary_failure`: it was found before and is missing now.'),
  reason: z
    .enum(recordReasons)
    .nullable()
    .describe(
      'Why it is not as wanted. `several`: there must be only one SPF, DMARC or DKIM record at a name. `quoted`: the DNS panel stored ' +
        'quotation marks or backslashes as part of the value: enter it without them. `doubled_name`: it was found at `NAME.ZONE`, because the DNS ' +
        'provider appended the zone to the full name: enter `host` instead. `unreachable`: the name servers did not answer.',
    ),
  found: z.string().nullable().describe('What the DNS had instead at the last check, one record per line.'),
  checked_at: timeOrNull(),
  key: z.enum(['next', 'active', 'retired']).nullable().describe('Of a DKIM record: whether its key will sign, signs, or no longer signs.'),
  keep_until: timeOrNull('For a DKIM key that no longer signs: keep the record until then.'),
})

const appLinks = z.union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))])

const { custom_return_path: _, ...answered } = domainObject.answer

const domainResource = resource<Omit<Domain, 'records'> & { returnPath: string; records: StatedRecord[] }>('Domain')({
  object: 'domain',
  id: z.string(),
  ...answered,
  status: z.enum(domainStatuses).describe('Mail can be sent if it is `verified`.'),
  zone: [z.string().describe('The registered domain, whose DNS the records go into.'), ({ name }) => zoneOf(name)],
  created_at: time(),
  checked_at: timeOrNull(),
  next_check_at: [
    timeAnswer.nullable().describe('When the records are looked for next, unasked; null: only when requested.'),
    (domain) => isoTimeOrNull(nextCheckAt(domain as Domain)),
  ],
  failing_since: [
    timeAnswer.nullable().describe('Since when a verified domain lacks a required record.'),
    ({ status, missingSince }) => (status === 'verified' ? isoTimeOrNull(missingSince) : null),
  ],
  stops_at: [
    timeAnswer.nullable().describe('When its mail is no longer accepted unless the missing records come back.'),
    (domain) => isoTimeOrNull(stopsAt(domain as Domain)),
  ],
  region: 'self-hosted',
  capabilities: [
    z.object({ sending: z.literal('enabled'), receiving: z.literal('disabled') }),
    () => ({ sending: 'enabled' as const, receiving: 'disabled' as const }),
  ],
  app_links: {
    schema: z.record(z.string(), appLinks).describe('What the tracking host serves below `/.well-known`, by file.'),
    convert: (files: Domain['appLinks']) =>
      Object.fromEntries(Object.entries(files).map(([file, json]) => [file, JSON.parse(json) as z.input<typeof appLinks>])),
  },
  return_path: z.string().describe('The domain of the reverse-path, used once its records are found.'),
  records: [
    z.array(domainRecord.schema).describe('The DNS records to publish, and what was found instead.'),
    ({ records }) => records.map(domainRecord.answer),
  ],
})
export const domainSchema = domainResource.schema

/** The domain as the API and the command line show it, with the records to publish. */
export const domainAnswer = (domain: Domain, domains: Pick<SendingDomains, 'recordStates'>) =>
  domainResource.answer({ ...domain, returnPath: returnPathOf(domain), records: domains.recordStates(domain) })

export const domainReference = referenceTo('domain')

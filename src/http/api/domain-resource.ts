import { z } from 'zod'
import { domainStatuses, domainTlsPolicies, type Domain, recordStatuses } from '../../sending-domain/domain.ts'
import { recordPurposes, returnPathOf } from '../../sending-domain/domain-records.ts'
import type { StatedRecord } from '../../sending-domain/record-states.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import { referenceTo, resource, time, timeOrNull } from '../resource.ts'

const domainRecord = resource<StatedRecord>('DomainRecord')({
  record: z.enum(recordPurposes).describe('What the record is for; both records of the return path are SPF.'),
  name: z.string().describe('The full name, without a trailing dot.'),
  type: z.enum(['TXT', 'MX', 'CNAME']),
  value: z.string().describe('The text, or only the host.'),
  priority: z.int().optional().describe('For an MX record.'),
  ttl: 'Auto',
  status: z.enum(recordStatuses).describe('`temporary_failure`: it was found before and is missing now.'),
  found: z.string().nullable().describe('What the DNS had instead at the last check, one record per line.'),
  checked_at: timeOrNull(),
  keep_until: timeOrNull('For a DKIM key that no longer signs: keep the record until then.'),
})

const appLinks = z.union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))])

const domainResource = resource<Omit<Domain, 'records'> & { returnPath: string; records: StatedRecord[] }>('Domain')({
  object: 'domain',
  id: z.string(),
  name: z.string().describe('In A-labels, lower case.'),
  status: z.enum(domainStatuses).describe('Mail can be sent if it is `verified`.'),
  created_at: time(),
  checked_at: timeOrNull(),
  region: 'self-hosted',
  capabilities: [
    z.object({ sending: z.literal('enabled'), receiving: z.literal('disabled') }),
    () => ({ sending: 'enabled' as const, receiving: 'disabled' as const }),
  ],
  open_tracking: [z.boolean(), ({ tracking }) => tracking.opens],
  click_tracking: [z.boolean(), ({ tracking }) => tracking.clicks],
  tracking_subdomain: z.string().nullable(),
  app_links: {
    schema: z.record(z.string(), appLinks).describe('What the tracking host serves below `/.well-known`, by file.'),
    convert: (files: Domain['appLinks']) =>
      Object.fromEntries(Object.entries(files).map(([file, json]) => [file, JSON.parse(json) as z.input<typeof appLinks>])),
  },
  tls: z.enum(domainTlsPolicies).describe('`enforced`: mail never leaves without TLS to a host with a valid certificate.'),
  subdomains: z.boolean().describe('Whether From addresses at names below it are covered too.'),
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

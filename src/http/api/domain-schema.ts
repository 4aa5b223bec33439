import { z } from 'zod'
import { domainStatuses, domainTlsPolicies, recordStatuses } from '../../sending-domain/domain.ts'
import { recordPurposes } from '../../sending-domain/domain-records.ts'
import { timeAnswer } from '../time-field.ts'

const domainRecord = z
  .object({
    record: z.enum(recordPurposes).describe('What it is for; both records of the return path are SPF.'),
    name: z.string().describe('The full name, without a final dot.'),
    type: z.enum(['TXT', 'MX', 'CNAME']),
    value: z.string().describe('The text, or the host alone.'),
    priority: z.int().optional().describe('Of an MX record.'),
    ttl: z.literal('Auto'),
    status: z.enum(recordStatuses).describe('`temporary_failure`: it was there before and is missing now.'),
    found: z.string().nullable().describe('What the DNS had in its place at the last check, a record a line.'),
    checked_at: timeAnswer.nullable(),
    keep_until: timeAnswer.nullable().describe('Of a DKIM key that signs no more: the record must stay until then.'),
  })
  .meta({ id: 'DomainRecord' })

export const domainSchema = z
  .object({
    object: z.literal('domain'),
    id: z.string(),
    name: z.string().describe('In A-labels, lower case.'),
    status: z.enum(domainStatuses).describe('Mail can be sent while it is `verified`.'),
    created_at: timeAnswer,
    checked_at: timeAnswer.nullable(),
    region: z.literal('self-hosted'),
    capabilities: z.object({ sending: z.literal('enabled'), receiving: z.literal('disabled') }),
    open_tracking: z.boolean(),
    click_tracking: z.boolean(),
    tracking_subdomain: z.string().nullable(),
    app_links: z
      .record(z.string(), z.union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))]))
      .describe('What the tracking host answers below `/.well-known`, by file.'),
    tls: z.enum(domainTlsPolicies).describe('`enforced`: never leaves without TLS to a host whose certificate is valid.'),
    subdomains: z.boolean().describe('Whether From addresses at names below it are covered too.'),
    return_path: z.string().describe('The domain of the reverse-path once its records are found.'),
    records: z.array(domainRecord).describe('What to publish in the DNS, with what is there.'),
  })
  .meta({ id: 'Domain' })

export const domainReference = z.object({ object: z.literal('domain'), id: z.string() })

const label = z.string().max(63)
/** characters, as JSON; what Apple takes */
const longestAppLinks = 128_000
const short = (value: unknown): boolean => JSON.stringify(value ?? null).length <= longestAppLinks
const tooLong = 'must be at most 128 KB of JSON'
const appLinks = z.strictObject({
  'apple-app-site-association': z.record(z.string(), z.unknown()).refine(short, tooLong).nullish(),
  'assetlinks.json': z.array(z.record(z.string(), z.unknown())).refine(short, tooLong).nullish(),
})
const changeable = {
  open_tracking: z
    .boolean()
    .nullish()
    .describe('Whether opens are tracked, by a picture, unless an email says otherwise. false if not given.'),
  click_tracking: z
    .boolean()
    .nullish()
    .describe('Whether clicks are tracked, by rewritten links, unless an email says otherwise. false if not given.'),
  app_links: appLinks.nullish().describe('What the tracking host answers below `/.well-known`, for apps to open links themselves.'),
  tracking_subdomain: label.nullish().describe('A label under the domain, such as `links`.'),
  tls: z.enum(domainTlsPolicies).nullish(),
  subdomains: z.boolean().nullish().describe('false: only From addresses at the very name are covered. true if not given.'),
}
const ownKey = {
  dkim_selector: label.nullish().describe('Of the key that is brought along, else of the RSA key; made up where it is not given.'),
  dkim_private_key: z
    .string()
    .max(20_000)
    .nullish()
    .describe('A private key in PEM: RSA with 2048 to 4096 bits, or Ed25519. It is stored encrypted and never shown.'),
}

/** What a domain is added with. */
export const newDomain = z.object({
  name: z.string().max(1000),
  custom_return_path: label.nullish().describe('The label of the return path; `send` if not given.'),
  ...changeable,
  ...ownKey,
})
/** What can be changed later. */
export const domainChanges = z.object(changeable)

/** What new keys are asked for with. */
export const rotation = z.object({ ...ownKey, force: z.boolean().nullish().describe('Takes the place of new keys that wait already.') })

import { z } from 'zod'
import { domainTlsPolicies } from '../../sending-domain/domain.ts'

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

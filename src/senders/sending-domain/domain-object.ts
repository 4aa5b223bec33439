import { z } from 'zod'
import { managedObject, type MembersOf } from '../../platform/managed-object.ts'
import { parseDomainName, parseLabel } from './sending-domain-name.ts'

/** `enforced`: this domain's mail leaves only with TLS to a host with a valid certificate. */
const tlsPolicies = ['opportunistic', 'enforced'] as const
export type DomainTls = (typeof tlsPolicies)[number]

const label = (field: 'custom_return_path' | 'tracking_subdomain') =>
  z
    .string()
    .max(63)
    .transform((text) => parseLabel(text, field))

/** What the owner of a domain sets. */
export const domainObject = managedObject({
  name: {
    type: z.string().max(1000).transform(parseDomainName),
    shown: z.string().describe('In A-labels, lower case.'),
    doc: 'The domain, such as example.com.',
    once: 'Add another domain',
    ofUsers: true,
  },
  custom_return_path: {
    type: label('custom_return_path'),
    doc: 'The label of the return path.',
    member: 'returnPathLabel',
    initial: 'send',
    once: 'Remove the domain and add it again to have another one',
  },
  tls: {
    type: z.enum(tlsPolicies),
    doc: '`enforced`: mail never leaves without TLS to a host with a valid certificate.',
    initial: 'opportunistic',
  },
  subdomains: { type: z.boolean(), doc: 'Whether From addresses at names below it are covered too.', initial: true },
  open_tracking: { type: z.boolean(), doc: 'Whether opens are tracked, with a pixel, unless an email says otherwise.', initial: false },
  click_tracking: {
    type: z.boolean(),
    doc: 'Whether clicks are tracked, with rewritten links, unless an email says otherwise.',
    initial: false,
  },
  tracking_subdomain: {
    type: label('tracking_subdomain').nullable(),
    shown: z.string().nullable().describe('The label under the domain for tracking links, such as `links`.'),
    doc: 'The label under the domain for tracking links, such as `links`.',
    initial: null,
  },
})

export type DomainFields = MembersOf<typeof domainObject.fields>

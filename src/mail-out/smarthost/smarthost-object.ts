import { isIP } from 'node:net'
import { z } from 'zod'
import { managedObject, type MembersOf } from '../../platform/managed-object.ts'
import { parseAddress } from '../../platform/smtp/address.ts'
import { parseDomain } from '../../platform/smtp/domain-name.ts'

// oxlint-disable-next-line no-control-regex
const printable = /^[^\0-\x1f\x7f-\x9f]*$/
const credential = z.string().min(1).max(255).regex(printable, 'must not contain control characters')

const login = z.object({ user: credential.describe('The user name.'), password: credential.describe('The password for it.') })
type SmarthostCredentials = z.output<typeof login>

/** The way without a smarthost. */
export const direct = 'direct'
export const maxNameLength = 63

/** A text, or what parsing makes of it. */
const parsed = (parse: (text: string) => string | { fault: string }) =>
  z.string().transform((text, ctx) => {
    const value = parse(text)
    if (typeof value === 'string') return value
    ctx.addIssue({ code: 'custom', message: value.fault })
    return z.NEVER
  })

const domainIn = (text: string): string | { fault: string } => {
  const domain = parseDomain(text)
  return domain.ok ? domain.domain : { fault: `must be a domain name. ${domain.fault}` }
}

/** A domain in A-labels, lower case. */
export const domainField = parsed(domainIn)

const hostField = parsed((text) => (isIP(text) === 0 ? domainIn(text) : text))

const addressField = parsed((text) => {
  const address = parseAddress(text)
  return address.ok ? address.address : { fault: `must be an address. ${address.fault}` }
})

/** What an operator sets of a host that relays mail. */
export const smarthostObject = managedObject({
  name: {
    type: z
      .string()
      .max(maxNameLength)
      .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be of lower-case letters, digits and hyphens')
      .refine((name) => name !== direct, `must not be ${direct}, which stands for mail without a smarthost`),
    doc: 'What routes call it: lower-case letters, digits and hyphens.',
    once: 'Add another smarthost',
  },
  host: { type: hostField, shown: z.string().describe('Its name or IP address.'), doc: 'Its name or IP address.' },
  port: { type: z.int().min(1).max(65535), doc: 'Its port.', usual: '587 with a login, else 25' },
  tls: {
    type: z.enum(['opportunistic', 'starttls', 'implicit']),
    doc:
      'TLS with it: required by STARTTLS (`starttls`) or from the first byte (`implicit`), or used if offered (`opportunistic`). ' +
      'Mail waits while required TLS is not available.',
    usual: '`implicit` with port 465 or 2465, else `starttls` with a login, else `opportunistic`',
  },
  verify: {
    type: z.boolean(),
    doc: 'Where TLS is required, whether its certificate must be valid for its name.',
    initial: true,
  },
  login: {
    type: login.nullable(),
    shown: {
      schema: z.object({ user: z.string() }).nullable().describe('The password is not shown.'),
      convert: (stored: SmarthostCredentials | null) => stored && { user: stored.user },
    },
    doc: 'How Sterna logs in. The password goes out only inside TLS with a valid certificate, unless the host takes SCRAM-SHA-256 or CRAM-MD5.',
    initial: null,
    secrets: ['password'],
  },
  sender: {
    type: addressField.nullable(),
    shown: z.string().nullable().describe('The envelope sender of all mail by it.'),
    doc: 'The envelope sender (MAIL FROM) of all mail by it, if it takes no other. Bounces then come to that mailbox, and not to Sterna.',
    initial: null,
    usual: 'each message has an address of its own for its bounces',
    ofUsers: true,
  },
})

/** What an operator can change. */
export type SmarthostFields = Omit<MembersOf<typeof smarthostObject.fields>, 'name'>
/** What an operator gives of a new one. */
export type NewSmarthost = Partial<SmarthostFields> & { name: string; host: string }

/** A host that relays mail, with its login in clear. */
export interface NamedSmarthost extends MembersOf<typeof smarthostObject.fields> {
  id: string
  /** Epoch, ms. */
  createdAt: number
  updatedAt: number
  /** How often it was changed. */
  revision: number
}

/** What is not given, from what is. */
export function completed({ port, tls, login = null, ...given }: NewSmarthost): MembersOf<typeof smarthostObject.fields> {
  const usualPort = port ?? (login ? 587 : 25)
  const usualTls = usualPort === 465 || usualPort === 2465 ? 'implicit' : login ? 'starttls' : 'opportunistic'
  return { ...smarthostObject.initial, ...given, login, port: usualPort, tls: tls ?? usualTls }
}

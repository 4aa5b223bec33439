import { isIP } from 'node:net'
import { isHostname, list, SettingFault, type SettingType } from './setting-types.ts'

/**
 * What is required of connections (RFC 7435), the least first. `opportunistic`: encrypted if the host offers it, whatever its certificate;
 * otherwise plain text. `require`: encrypted, whatever the certificate, or not at all. `verify`: encrypted to a host with a certificate
 * valid for its MX name, or not at all. `dane`: encrypted to a host whose certificate its TLSA records prove (RFC 7672), or not at all.
 */
export const tlsPolicies = ['opportunistic', 'require', 'verify', 'dane'] as const
export type TlsPolicy = (typeof tlsPolicies)[number]

/** By recipient domain, in lower-case A-labels; `.example.com` is for all names below it. */
export type RecipientTls = Readonly<Record<string, TlsPolicy>>

/** The policy for a domain: its own, or that of the nearest name above it; null: neither has any. */
export function tlsPolicyFor(policies: RecipientTls, domain: string): TlsPolicy | null {
  if (isEmpty(policies)) return null
  for (let name = domain; name !== ''; name = nameAbove(name)) if (Object.hasOwn(policies, name)) return policies[name] as TlsPolicy
  return null
}

/** `.example.com` after both `mail.example.com` and `.mail.example.com`; empty after the last. */
function nameAbove(name: string): string {
  const dot = name.indexOf('.', 1)
  return dot === -1 ? '' : name.slice(dot)
}

function isEmpty(policies: RecipientTls): boolean {
  for (const _ in policies) return false
  return true
}

/**
 * Parses a name as `RecipientTls` has it.
 * @throws SettingFault if it is none
 */
export function parseRecipientDomain(text: string): string {
  const name = text.toLowerCase()
  if (isIP(name) === 0 && isHostname(name.startsWith('.') ? name.slice(1) : name)) return name
  throw new SettingFault(
    `${JSON.stringify(text)} is not a domain. Write it like bank.example, or .bank.example for all names below it (non-ASCII names in their xn-- form).`,
  )
}

/** Each as `bank.example=verify`. */
export const recipientTlsText = (policies: RecipientTls): string[] =>
  Object.entries(policies).map(([domain, policy]) => `${domain}=${policy}`)

/** A list of `DOMAIN=POLICY`; `none` for an empty one. */
export const recipientTls = (max: number): SettingType<RecipientTls> => ({
  title: listed.title,
  parse(given) {
    const entries = listed.parse(given)
    if (entries.length > max) throw new SettingFault(`it has ${entries.length} domains; ${max} are the most.`)
    const policies: Record<string, TlsPolicy> = {}
    for (const [name, policy] of entries) {
      if (Object.hasOwn(policies, name)) throw new SettingFault(`${name} is listed twice.`)
      policies[name] = policy
    }
    return policies
  },
})

function domainWithPolicy(given: unknown): [domain: string, policy: TlsPolicy] {
  const [, domain, word] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(String(given)) ?? []
  const policy = tlsPolicies.find((each) => each === word)
  if (domain !== undefined && policy !== undefined) return [parseRecipientDomain(domain), policy]
  throw new SettingFault(
    `${JSON.stringify(given)} is not a domain with its policy. Write it like bank.example=verify, with one of ${tlsPolicies.join(', ')}.`,
  )
}

const listed = list({ title: 'domain=policy', parse: domainWithPolicy })

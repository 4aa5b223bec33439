import { expect } from 'vitest'
import type { DeliveryJob } from '../../src/mail-out/delivery/attempt.ts'
import { tlsPolicies, type TlsPolicy } from '../../src/platform/config/recipient-tls.ts'
import type { TlsaRecord } from '../../src/platform/resolver.ts'
import { jobOf, testDelivery, type ReadAttempt, type TestDelivery } from './delivery-fixture.ts'
import { documentedTable } from './documented-table.ts'
import { fakeResolver, type FakeNameTable } from './fake-resolver.ts'
import { testCertificate, tlsaOf, type TestCertificate } from './test-certificates.ts'

const certified = ['a valid certificate', 'a self-signed one', 'an expired one', 'one for another name'] as const
const uncertified = [
  'no STARTTLS',
  'STARTTLS that it refuses for now',
  'STARTTLS that it refuses for good',
  'a handshake that fails',
] as const
export type Certified = (typeof certified)[number]

/** What a host can show, in the words of docs/standards.md. */
export const shownByHosts = [...certified, ...uncertified] as const
export type Shown = (typeof shownByHosts)[number]

/** What says how mail may leave: a policy that the operator has set, or what the recipient's domain publishes by MTA-STS. */
export const policies = ['opportunistic', 'require', 'verify', 'dane', 'sts testing', 'sts enforce'] as const
export type Policy = (typeof policies)[number]

/** The tables of docs/standards.md that say what a host shows. Tests that send mail for each row take from there what becomes of it. */
export const tables = {
  policies: known(documentedTable('the host shows', ...policies)),
  dane: known(documentedTable('TLSA records of the host', 'the host shows', 'nothing set', 'failure', 'dane set', 'failure with dane')),
  requireTls: known(documentedTable('the host shows', 'it offers REQUIRETLS', 'the message')),
}

function known<R extends Record<'the host shows', string>>(rows: R[]): (R & Record<'the host shows', Shown>)[] {
  const isKnown = (row: R): row is R & Record<'the host shows', Shown> =>
    (shownByHosts as readonly string[]).includes(row['the host shows'])
  const unknown = rows.find((row) => !isKnown(row))
  if (unknown) throw new Error(`no host shows what docs/standards.md calls "${unknown['the host shows']}"`)
  return rows.filter(isKnown)
}

export interface ShownCertificates extends Record<Certified, TestCertificate> {
  authority: TestCertificate
}

/** For hosts of these names; the authority has issued all of them but the self-signed one. */
export async function shownCertificates(nameOf: (shown: Certified) => string): Promise<ShownCertificates> {
  const issuer = await testCertificate(['Authority'])
  return {
    authority: issuer,
    'a valid certificate': await testCertificate([nameOf('a valid certificate')], { issuer }),
    'a self-signed one': await testCertificate([nameOf('a self-signed one')]),
    'an expired one': await testCertificate([nameOf('an expired one')], { issuer, expired: true }),
    'one for another name': await testCertificate([`other.${nameOf('one for another name')}`], { issuer }),
  }
}

/** The certificate of a host that shows this; of one that never gets as far, it is valid. */
export const certificateShown = (shown: Shown, certificates: ShownCertificates): TestCertificate =>
  certificates[certified.find((each) => each === shown) ?? 'a valid certificate']

/** The TLSA records of a host, as docs/standards.md calls them. */
export function tlsaRecords(called: string, own: TestCertificate, authority: TestCertificate): TlsaRecord[] | 'servfail' {
  const ofNobody = { selector: 1, matchingType: 1, data: Buffer.alloc(32, 1) }
  switch (called) {
    case 'usage 3, of its certificate':
      return [tlsaOf(own, [3, 1, 1])]
    case 'usage 3, of another certificate':
      return [{ usage: 3, ...ofNobody }]
    case 'usage 2, of its authority':
      return [tlsaOf(authority, [2, 1, 1])]
    case 'usage 2, of another authority':
      return [{ usage: 2, ...ofNobody }]
    case 'none that can be used':
      return [{ usage: 1, ...ofNobody }]
    case 'none':
      return []
    case 'not to be looked up, or with wrong signatures':
      return 'servfail'
  }
  throw new Error(`no host has the records that docs/standards.md calls "${called}"`)
}

/** The one host of example.com. */
export interface OnlyHost {
  name: string
  host: string
  port: number
}

interface Surroundings {
  /** Authorities, in PEM. */
  trusted: string[]
  /** What the policy of the domain lists. */
  listed?: string
  /** Set: the zone is signed, and the host has these records. */
  tlsa?: TlsaRecord[] | 'servfail'
}

/** Delivery to example.com, which publishes by MTA-STS what this policy says. */
export function deliveryTo(at: OnlyHost, policy: Policy | null, { trusted, listed = '*.example.com', tlsa }: Surroundings): TestDelivery {
  const secure = tlsa !== undefined
  const mode = stsMode(policy)
  const zone: FakeNameTable = {
    'example.com': { mx: [[0, at.name]], secure },
    [at.name]: { a: [at.host], secure },
    [`_${at.port}._tcp.${at.name}`]: tlsa === 'servfail' ? tlsa : { tlsa: tlsa ?? [], secure },
    ...(mode && { '_mta-sts.example.com': { txt: ['v=STSv1; id=1'] } }),
  }
  const published = mode && { mode, mx: [listed], maxAgeMs: 86_400_000 }
  return testDelivery([at], { extraAuthorities: trusted, resolver: fakeResolver(zone), published: () => published })
}

const stsMode = (policy: Policy | null): 'enforce' | 'testing' | null =>
  policy === 'sts enforce' ? 'enforce' : policy === 'sts testing' ? 'testing' : null

/** Mail for which the operator has set this policy, if it is one of the operator's. */
export const jobUnder = (policy: Policy | null, more: Parameters<typeof jobOf>[0] = {}): DeliveryJob =>
  jobOf({ recipientTls: tlsPolicies.find((each) => each === policy) ?? null, ...more })

/** The policy that an attempt shows. */
export const shownPolicy = (policy: Policy): { mode: TlsPolicy; sts: 'enforce' | 'testing' | undefined } => {
  const sts = stsMode(policy) ?? undefined
  return { mode: sts === 'enforce' ? 'verify' : sts === 'testing' ? 'opportunistic' : (policy as TlsPolicy), sts }
}

/** Whether mail leaves as a cell says. */
export const leaves = (cell: string): boolean => ['plain', 'encrypted', 'verified'].includes(cell)

/** That an attempt ended as a cell says: `plain`, `encrypted`, `verified`, `waits` or `bounces with CODE`. */
export function expectOutcome({ outcome, transport }: ReadAttempt, cell: string): void {
  const [, code] = /^bounces with (5\.\d+\.\d+)$/.exec(cell) ?? []
  expect(transport).toBe(leaves(cell) ? cell : null)
  if (leaves(cell)) expect(outcome).toMatchObject({ type: 'delivered' })
  else if (cell === 'waits') expect(outcome).toMatchObject({ type: 'deferred', category: 'policy', reply: null })
  else
    expect(outcome).toMatchObject({
      type: 'bounced',
      hard: false,
      category: 'policy',
      reason: expect.stringMatching(`^${code} `) as string,
    })
}

import { tlsPolicies, type TlsPolicy } from '../../platform/config/recipient-tls.ts'
import type { DomainTls } from '../../senders/sending-domain/domain-object.ts'
import type { TransferOptions } from '../../mail/message/transfer-options.ts'
import type { Dane, DaneRecords, DaneUnusable } from './dane.ts'
import { listsMx, whyUnlisted, type StsPolicy } from '../mta-sts/sts-policy.ts'
import type { FetchFault } from '../mta-sts/fetch-sts-policy.ts'
import type { Smarthost } from './smarthost.ts'

/**
 * Who requires TLS of a connection. `operator`: what is set for the recipient's domain. `sender`: the sender's domain. `smarthost`: what is set
 * for the smarthost. `mta_sts`: what the recipient's domain publishes (RFC 8461), or that of the smarthost. `message`: the message itself
 * (REQUIRETLS). `dane`: the host, by its TLSA records.
 */
export const policySources = ['operator', 'sender', 'smarthost', 'mta_sts', 'message', 'dane'] as const
export type PolicySource = (typeof policySources)[number]

/** What a connection to a host must fulfil, and who says so. */
export type TransportPolicy = Readonly<
  (
    | { mode: 'opportunistic'; source: null }
    /** In plain text, because TLS has failed there and nobody requires it. */
    | { mode: 'plain'; source: null }
    | { mode: Exclude<TlsPolicy, 'opportunistic' | 'dane'>; source: PolicySource }
    /** `records`: null as long as they are not known. */
    | { mode: 'dane'; source: PolicySource; records: DaneRecords | null }
  ) & {
    /** The same for policies that ask for the same: a connection or a session of one is never used under another. */
    key: string
    /** True if the host must also pass the demand for TLS on, and be named by somebody who can be believed (RFC 8689). */
    isPassedOn?: true
    /** Why the host must not even be connected to. */
    closed?: string
    /** A policy that its owner only tests: what it has against the host is reported, and the mail sent all the same. */
    tested?: TransportPolicy
    /** What the recipient's domain publishes, if it is judged by that. */
    published?: DomainSts
    /** The host's TLSA records, if none can be used: reports on TLS tell its owner. */
    unusable?: DaneUnusable
  }
>

/** What a policy depends on of a host. */
interface PolicyHost {
  name: string
  smarthost?: Smarthost
  isAuthentic?: true
}

/** A policy by MTA-STS, and whose it is. */
interface PublishedSts {
  domain: string
  policy: StsPolicy
}

/** Why nothing is known of the policy that a domain announces, so mail goes as without. */
interface UnfetchedSts {
  domain: string
  fault: FetchFault
}

/** What a domain publishes by MTA-STS. */
export type DomainSts = PublishedSts | UnfetchedSts

/** What is asked for mail of one job. */
export interface Demands {
  /** What is set for the recipient's domain; null: nothing, so what the domain publishes holds. With REQUIRETLS that holds as well. */
  recipientTls: TlsPolicy | null
  senderTls: DomainTls
  /** What is asked for the message; null: nothing. */
  transfer: TransferOptions | null
}

export const opportunistic: TransportPolicy = { mode: 'opportunistic', source: null, key: 'opportunistic' }
export const plain: TransportPolicy = { mode: 'plain', source: null, key: 'plain' }

const required = (mode: Exclude<TlsPolicy, 'opportunistic' | 'dane'>, source: PolicySource): TransportPolicy => ({
  mode,
  source,
  key: `${mode} ${source}`,
})
const byDane = (source: PolicySource, records: DaneRecords | null): TransportPolicy => ({
  mode: 'dane',
  source,
  records,
  key: `dane ${source} ${records?.key ?? ''}`,
})
/** Made once: most jobs have one of these. */
const policiesOf = (source: PolicySource) => ({
  opportunistic,
  require: required('require', source),
  verify: required('verify', source),
  dane: byDane(source, null),
})
const byOperator = policiesOf('operator')
const bySmarthost = policiesOf('smarthost')
const bySender: Record<DomainTls, TransportPolicy> = { opportunistic, enforced: required('verify', 'sender') }
const bySts = required('verify', 'mta_sts')

/**
 * The policy for a host of the route, in this order: what the message demands; what is set for the recipient's domain, which stands in the
 * place of what that publishes; a policy by MTA-STS, which is enforced, or tested beside the others; of the others the strictest.
 * @param host null where none was found
 * @param sts null where none is published
 */
export function transportPolicy(host: PolicyHost | null, demands: Demands, sts: DomainSts | null): TransportPolicy {
  const beside = policyBesideMessage(host, demands, sts && 'policy' in sts ? sts : null)
  const policy = sts && 'fault' in sts ? { ...beside, published: sts } : beside
  return demands.transfer?.requireTls === true ? passedOn(host, policy) : policy
}

/** RFC 8689 4.2.1. */
function passedOn(host: PolicyHost | null, beside: TransportPolicy): TransportPolicy {
  const { key, source, published } = beside
  // TLSA records may open it; then it must pass the demand on.
  if (beside.closed !== undefined) return withRequireTls(beside)
  const policy = withRequireTls({ mode: 'verify', source: 'message', key, ...(published && { published }) })
  if (!host || source === 'mta_sts' || isVouchedFor(host)) return policy
  return {
    ...policy,
    closed: `TLS is required by the policy verify ${sourceWords.message}, but neither MTA-STS nor DNSSEC vouches for the recipient's mail hosts`,
  }
}

const withRequireTls = (policy: TransportPolicy): TransportPolicy => ({ ...policy, key: `${policy.key} requiretls`, isPassedOn: true })

/** Whether it is certain that the recipient's mail goes to this host: the operator has named it, or the DNS, with DNSSEC. */
const isVouchedFor = (host: PolicyHost): boolean => host.smarthost !== undefined || host.isAuthentic === true

function policyBesideMessage(host: PolicyHost | null, demands: Demands, sts: PublishedSts | null): TransportPolicy {
  const { recipientTls, senderTls, transfer } = demands
  const smarthostTls = host?.smarthost?.tls?.policy
  if (!recipientTls && senderTls === 'opportunistic' && !smarthostTls && !sts) return opportunistic
  // REQUIRETLS asks who vouches for the host, which nothing that is set does.
  const published = sts && (recipientTls === null || transfer?.requireTls === true) ? stsFor(host, sts) : null
  // RFC 8689 5: with `TLS-Required: No`, what the domain publishes is not enforced.
  if (published && sts?.policy.mode === 'enforce' && transfer?.requireTls !== false) return published
  const byMail = stricter(byOperator[recipientTls ?? 'opportunistic'], bySender[senderTls])
  const asked = stricter(byMail, bySmarthost[smarthostTls ?? 'opportunistic'])
  return published ? withTested(asked, published) : asked
}

const requiredByUnusable = required('require', 'dane')
/** As long as its records are not known. */
const requiredByRecords = byDane('dane', null)

/**
 * What holds for a host once it is known what its TLSA records require; or why mail must not go there at all. Its records win over whatever
 * authorities say (RFC 8461 2), so a certificate that matches them is valid for the sender's domain as well.
 */
export function withDane(
  policy: TransportPolicy,
  dane: Dane | null,
  { recipientTls }: Pick<Demands, 'recipientTls'>,
): TransportPolicy | Unproved {
  const isDemanded = recipientTls === 'dane'
  const unproved = (result: Unproved['shown']['result'], fault: string, unusable?: DaneUnusable): Unproved => ({
    under: { ...(isDemanded ? byOperator.dane : requiredByRecords), ...(unusable && { unusable }) },
    shown: { is: 'unproved', result, fault },
  })
  switch (dane?.is) {
    case undefined:
      return isDemanded ? unproved('dane-required', 'the host has no TLSA records that DNSSEC proves') : policy
    case 'fault':
      return unproved('dnssec-invalid', dane.fault)
    case 'unusable':
      return isDemanded ? unproved('tlsa-invalid', noneUsable, dane) : { ...stricter(policy, requiredByUnusable), unusable: dane }
    case 'records':
      return policy.isPassedOn ? withRequireTls(byDane('message', dane)) : byDane(isDemanded ? 'operator' : 'dane', dane)
  }
}

export const noneUsable = 'the host has no TLSA records that can be used'

/** Nothing proves which certificate a host must show. */
interface Unproved {
  under: TransportPolicy
  shown: Extract<Shown, { is: 'unproved' }>
}

function stsFor(host: PolicyHost | null, published: PublishedSts): TransportPolicy {
  const { domain, policy } = published
  const name = host?.name.toLowerCase()
  if (name === undefined || listsMx(policy, name)) return { ...bySts, published }
  return { ...bySts, published, closed: `the MTA-STS policy of ${domain} does not list the host ${name}: ${whyUnlisted(policy, name)}` }
}

const withTested = (policy: TransportPolicy, tested: TransportPolicy): TransportPolicy => ({
  ...policy,
  key: `${policy.key}, tested: ${tested.closed ?? tested.key}`,
  tested,
})

/** The same host in plain text. */
export const inPlain = ({ tested }: TransportPolicy): TransportPolicy => (tested ? withTested(plain, tested) : plain)

const strictness = ['plain', ...tlsPolicies]

/** The first of two that are equally strict. */
const stricter = (one: TransportPolicy, other: TransportPolicy): TransportPolicy =>
  strictness.indexOf(one.mode) >= strictness.indexOf(other.mode) ? one : other

/** What came of TLS with a host. `problem`: why the certificate is not valid for the host; empty if it is. */
export type Shown =
  | { is: 'not offered' }
  /** In TLS, the host does not say that it passes the demand for TLS on. */
  | { is: 'not passed on' }
  /** Not even connected to. `result`: as RFC 8460 4.3 has it. */
  | { is: 'unproved'; result: 'dane-required' | 'dnssec-invalid' | 'tlsa-invalid'; fault: string }
  | { is: 'refused' | 'failed'; fault: string }
  | { is: 'encrypted'; problem: string }

/**
 * Why the mail must not go to this host, in the words that explanations know; null if it may. Then others are tried; without one it is
 * deferred, or returned if the message has the policy.
 */
export function tlsObjection({ mode, source, closed }: TransportPolicy, shown: Shown): string | null {
  if (closed !== undefined) return closed
  if (source === null) return null
  if (mode === 'require' && shown.is === 'encrypted') return null
  const fault = faultOf(shown)
  return fault === null ? null : `TLS is required by the policy ${mode} ${sourceWords[source]}, but ${fault}`
}

const sourceWords: Record<PolicySource, string> = {
  operator: "for the recipient's domain",
  sender: "of the sender's domain",
  smarthost: 'for the smarthost',
  mta_sts: 'that the domain publishes (MTA-STS)',
  message: 'of the message (REQUIRETLS)',
  dane: 'of its TLSA records',
}

/** What a policy that is only tested has against the host; true: nothing. Undefined: none is tested. */
export const testResult = ({ tested }: TransportPolicy, shown: Shown): string | true | undefined =>
  tested && (tlsObjection(tested, shown) ?? true)

function faultOf(shown: Shown): string | null {
  switch (shown.is) {
    case 'unproved':
      return shown.fault
    case 'not offered':
      return 'the host does not offer STARTTLS'
    case 'refused':
      return `the host refused it: ${shown.fault}`
    case 'failed':
      return `the handshake failed: ${shown.fault}`
    case 'encrypted':
      return shown.problem === '' ? null : `the certificate is not valid for the host: ${shown.problem}`
    case 'not passed on':
      return 'the host does not offer REQUIRETLS, so it might send the message on without'
  }
}

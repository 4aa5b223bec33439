import { tlsPolicies, type TlsPolicy } from '../../platform/config/recipient-tls.ts'
import type { DomainTls } from '../../senders/sending-domain/domain-object.ts'
import type { TransferOptions } from '../../mail/message/transfer-options.ts'
import type { Smarthost } from './smarthost.ts'

/**
 * Who requires TLS of a connection. `operator`: what is set for the recipient's domain. `sender`: the sender's domain. `smarthost`: what is set
 * for the smarthost. `message`: the message itself (REQUIRETLS).
 */
export const policySources = ['operator', 'sender', 'smarthost', 'message'] as const
export type PolicySource = (typeof policySources)[number]

/** What a connection to a host must fulfil, and who says so. */
export type TransportPolicy = Readonly<
  (
    | { mode: 'opportunistic'; source: null }
    /** In plain text, because TLS has failed there and nobody requires it. */
    | { mode: 'plain'; source: null }
    | { mode: Exclude<TlsPolicy, 'opportunistic'>; source: PolicySource }
  ) & {
    /** The same for policies that ask for the same: a connection or a session of one is never used under another. */
    key: string
    /** True if the host must also pass the demand for TLS on, and be named by somebody who can be believed (RFC 8689). */
    isPassedOn?: true
    /** Why the host must not even be connected to. */
    closed?: string
  }
>

/** What a policy depends on of a host. */
interface PolicyHost {
  smarthost?: Smarthost
}

/** What is asked for mail of one job. */
export interface Demands {
  /** What is set for the recipient's domain; null: nothing, so what the domain publishes holds. */
  recipientTls: TlsPolicy | null
  senderTls: DomainTls
  /** What is asked for the message; null: nothing. */
  transfer: TransferOptions | null
}

export const opportunistic: TransportPolicy = { mode: 'opportunistic', source: null, key: 'opportunistic' }
export const plain: TransportPolicy = { mode: 'plain', source: null, key: 'plain' }

const required = (mode: Exclude<TlsPolicy, 'opportunistic'>, source: PolicySource): TransportPolicy => ({
  mode,
  source,
  key: `${mode} ${source}`,
})
/** Made once: most jobs have one of these. */
const bothOf = (source: PolicySource) => ({
  opportunistic,
  require: required('require', source),
  verify: required('verify', source),
})
const byOperator = bothOf('operator')
const bySmarthost = bothOf('smarthost')
const bySender: Record<DomainTls, TransportPolicy> = { opportunistic, enforced: required('verify', 'sender') }

/** The policy for a host of the route: the strictest of all that hold for it. `host`: null where none was found. */
export function transportPolicy(host: PolicyHost | null, demands: Demands): TransportPolicy {
  const policy = policyBesideMessage(host, demands)
  return demands.transfer?.requireTls === true ? passedOn(host, policy) : policy
}

/** RFC 8689 4.2.1. */
function passedOn(host: PolicyHost | null, { key }: TransportPolicy): TransportPolicy {
  const policy = { mode: 'verify', source: 'message', key: `${key} requiretls`, isPassedOn: true } as const
  if (!host || isVouchedFor(host)) return policy
  return {
    ...policy,
    closed: `TLS is required by the policy verify ${sourceWords.message}, but neither MTA-STS nor DNSSEC vouches for the recipient's mail hosts`,
  }
}

/** Whether it is certain that the recipient's mail goes to this host: the operator has named it. */
const isVouchedFor = (host: PolicyHost): boolean => host.smarthost !== undefined

function policyBesideMessage(host: PolicyHost | null, { recipientTls, senderTls }: Demands): TransportPolicy {
  const smarthostTls = host?.smarthost?.tls?.policy
  if (!recipientTls && senderTls === 'opportunistic' && !smarthostTls) return opportunistic
  const byMail = stricter(byOperator[recipientTls ?? 'opportunistic'], bySender[senderTls])
  return stricter(byMail, bySmarthost[smarthostTls ?? 'opportunistic'])
}

const strictness = ['plain', ...tlsPolicies]

/** The first of two that are equally strict. */
const stricter = (one: TransportPolicy, other: TransportPolicy): TransportPolicy =>
  strictness.indexOf(one.mode) >= strictness.indexOf(other.mode) ? one : other

/** What came of TLS with a host. `problem`: why the certificate is not valid for the host; empty if it is. */
export type Shown =
  | { is: 'not offered' }
  | { is: 'refused' | 'failed'; fault: string }
  | { is: 'encrypted'; problem: string }
  /** In TLS, the host does not say that it passes the demand for TLS on. */
  | { is: 'not passed on' }

/**
 * Why the mail must not go to this host, in the words that explanations know; null if it may. Then others are tried; without one it is
 * deferred, or returned if the message has the policy.
 */
export function tlsObjection({ mode, source }: TransportPolicy, shown: Shown): string | null {
  if (source === null) return null
  if (mode === 'require' && shown.is === 'encrypted') return null
  const fault = faultOf(shown)
  return fault === null ? null : `TLS is required by the policy ${mode} ${sourceWords[source]}, but ${fault}`
}

const sourceWords: Record<PolicySource, string> = {
  operator: "for the recipient's domain",
  sender: "of the sender's domain",
  smarthost: 'for the smarthost',
  message: 'of the message (REQUIRETLS)',
}

function faultOf(shown: Shown): string | null {
  switch (shown.is) {
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

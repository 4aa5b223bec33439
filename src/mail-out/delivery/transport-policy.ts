import { tlsPolicies, type TlsPolicy } from '../../platform/config/recipient-tls.ts'
import type { DomainTls } from '../../senders/sending-domain/domain-object.ts'
import type { Smarthost } from './smarthost.ts'

/**
 * Who requires TLS of a connection. `operator`: what is set for the recipient's domain. `sender`: the sender's domain. `smarthost`: what is set
 * for the smarthost.
 */
export const policySources = ['operator', 'sender', 'smarthost'] as const
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
  }
>

/** What is asked for mail of one job. */
export interface Demands {
  /** What is set for the recipient's domain; null: nothing, so what the domain publishes holds. */
  recipientTls: TlsPolicy | null
  senderTls: DomainTls
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
export function transportPolicy(host: { smarthost?: Smarthost } | null, { recipientTls, senderTls }: Demands): TransportPolicy {
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
export type Shown = { is: 'not offered' } | { is: 'refused' | 'failed'; fault: string } | { is: 'encrypted'; problem: string }

/**
 * Why the mail must not go to this host, in the words that explanations know; null if it may. Then others are tried, and without one it is
 * deferred.
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
  }
}

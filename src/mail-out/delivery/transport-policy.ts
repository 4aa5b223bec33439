import type { TlsMode } from './tls-policy.ts'

/** What came of TLS with a host. `problem`: why the certificate is not valid for the host; empty if it is. */
export type Shown = { is: 'not offered' } | { is: 'refused' | 'failed'; fault: string } | { is: 'encrypted'; problem: string }

/**
 * Why the mail must not go to this host, in the words that explanations know; null if it may. Then others are tried, and without one it is
 * deferred.
 */
export function tlsObjection(mode: TlsMode, shown: Shown): string | null {
  if (mode === 'plain' || mode === 'opportunistic') return null
  if (mode === 'require' && shown.is === 'encrypted') return null
  const fault = faultOf(shown)
  return fault === null ? null : `TLS is required by the policy ${mode}, but ${fault}`
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

import type { AttemptProblem } from './attempt-state.ts'

const howOnEach = 'docs/tls.md shows how, also in a container and behind a proxy.'

/** What an operator can do about each kind of problem. */
export const adviceByProblem = {
  http_01: `For http-01, port 80 of this name must lead to http.listen. ${howOnEach}`,
  tls_alpn_01: `For tls-alpn-01, port 443 of this name must lead to http.tls_listen, without a proxy that ends TLS. ${howOnEach}`,
  dns: 'Publish an A or AAAA record for the name, or a CNAME, that leads to this server.',
  caa: 'A CAA record forbids this authority to issue for the name. Allow it there, or set acme.directory to the one that is allowed.',
  rate_limited: 'Nothing to do: Sterna asks again once the limit allows it.',
  rejected_identifier: 'This authority issues nothing for such a name. Use a public name, your own authority (acme.directory) or tls.cert.',
  unreachable: 'Check that this server reaches acme.directory. If it is your own authority, set acme.ca to its root certificate.',
  account_required: 'Set acme.eab_key_id and acme.eab_key_file to what the authority gave you.',
  invalid_contact: 'Set acme.email to an address that the authority accepts.',
  unsupported: 'Set acme.challenges to a challenge that the authority offers.',
  other: 'docs/tls.md lists the errors of authorities.',
} as const
type ProblemKind = keyof typeof adviceByProblem

/** By the type of RFC 8555 6.7, or of ours. */
const kindByType: Record<string, ProblemKind> = {
  dns: 'dns',
  caa: 'caa',
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'rejected_identifier',
  unreachable: 'unreachable',
  externalAccountRequired: 'account_required',
  invalidContact: 'invalid_contact',
  unsupported: 'unsupported',
}

const kindByChallenge = { 'http-01': 'http_01', 'tls-alpn-01': 'tls_alpn_01' } as const

export function problemKindOf({ type, challenge }: Pick<AttemptProblem, 'type' | 'challenge'>): ProblemKind {
  if (challenge !== null && ['connection', 'unauthorized', 'tls', 'incorrectResponse', 'malformed'].includes(type)) {
    return kindByChallenge[challenge]
  }
  return kindByType[type] ?? 'other'
}

/** What an operator can do about a problem. */
export const adviceFor = (problem: AttemptProblem): string => adviceByProblem[problemKindOf(problem)]

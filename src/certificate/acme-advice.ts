import type { AttemptProblem } from './attempt-state.ts'

const open = {
  'http-01': 'port 80 of this name must lead to http.listen',
  'tls-alpn-01': 'port 443 of this name must lead to http.tls_listen, without a proxy that ends TLS',
}

const adviceByType: Record<string, string> = {
  dns: 'Publish an A or AAAA record for the name, or a CNAME, that leads to this server.',
  caa: 'A CAA record forbids this authority to issue for the name. Allow it there, or set acme.directory to the one that is allowed.',
  rateLimited: 'Nothing to do: Sterna asks again once the limit allows it.',
  rejectedIdentifier: 'This authority issues nothing for such a name. Use a public name, your own authority (acme.directory) or tls.cert.',
  unreachable: 'Check that this server reaches acme.directory. If it is your own authority, set acme.ca to its root certificate.',
  externalAccountRequired: 'Set acme.eab_key_id and acme.eab_key_file to what the authority gave you.',
  invalidContact: 'Set acme.email to an address that the authority accepts.',
  unsupported: 'Set acme.challenges to a challenge that the authority offers.',
}

/** What an operator can do about a problem. */
export function adviceFor({ type, challenge }: AttemptProblem): string {
  if (challenge !== null && ['connection', 'unauthorized', 'tls', 'incorrectResponse', 'malformed'].includes(type)) {
    return `For ${challenge}, ${open[challenge]}. docs/tls.md shows how, also in a container and behind a proxy.`
  }
  return adviceByType[type] ?? 'docs/tls.md lists the errors of authorities.'
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SecureContext, TlsOptions, TLSSocket } from 'node:tls'
import { acmeProtocol, type ChallengeAnswers } from '../../platform/certificate/challenge-answers.ts'
import { ciphersOfHttp } from '../../platform/certificate/served-ciphers.ts'
import { sessionIdContext } from '../../platform/certificate/ticket-keys.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'

const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]{1,200})$/

/** Answers HTTP-01 (RFC 8555 8.3), at any host; false if the request is for something else. */
export function answerChallenge({ url = '' }: IncomingMessage, res: ServerResponse, challenges: ChallengeAnswers): boolean {
  const token = challengePath.exec(url)?.[1]
  const text = token === undefined ? undefined : challenges.httpAnswer(token)
  if (text === undefined) return false
  res.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': text.length }).end(text)
  return true
}

/** The certificate for each client. A client that speaks `acme-tls/1` is an authority that checks TLS-ALPN-01, and gets its answer. */
export function tlsOptionsOf({ cert, key, contextFor }: TlsFiles, challenges: ChallengeAnswers | null): TlsOptions {
  const checking = new WeakSet<object>()
  const options = {
    cert,
    key,
    ciphers: ciphersOfHttp,
    sessionIdContext,
    SNICallback(this: object, name: string, done: (error: null, context?: SecureContext) => void) {
      done(null, checking.has(this) ? challenges?.tlsAnswer(name) : contextFor?.(name))
    },
    // With TLS 1.3 it is called before the one above, which then has the last word, and with TLS 1.2 after it.
    ALPNCallback(this: TLSSocket, { servername, protocols }: { servername: string | false; protocols: string[] }) {
      // An authority names what it checks (RFC 8737 3).
      const answer = protocols.includes(acmeProtocol) && servername !== false ? challenges?.tlsAnswer(servername) : undefined
      if (!answer) return protocols.find((protocol) => protocol === 'http/1.1')
      checking.add(this)
      this.setKeyCert(answer)
      return acmeProtocol
    },
  }
  return options as TlsOptions
}

import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { renegotiate, type FakeMxOptions, type FakeTls, type MxHooks } from '../../test/support/fake-mx.ts'
import type { DislikesHello } from '../../test/support/hello-filter.ts'

/** What an MX host does, and what may become of mail to it. */
export interface HostileBehaviour {
  name: string
  mx: Pick<FakeMxOptions, 'tls' | 'extensions' | 'on'>
  /** Resets connections at such a hello. */
  resetsHello?: DislikesHello
  /**
   * How often the host may get a message: once; twice, if its answer to it is none, after which the mail bounces; or whenever it leaves us in
   * doubt, or refuses what it has got. Default: once.
   */
  copies?: 'twice' | 'any'
}

const megabyte = 1024 * 1024

/** A record of TLS 1.2 with part of a ServerHello that is much longer. */
const partOfHello = Buffer.from('160303400002003ffc0303', 'hex')
const fatalAlert = Buffer.from('15030300020228', 'hex')
const endlessZeros = Buffer.concat([Buffer.from('1603034000', 'hex'), Buffer.alloc(16_384)])

const writeEach = (socket: Socket, bytes: Buffer, times: number): void => {
  for (let i = 0; i < times; i++) socket.write(bytes)
}

/** A certificate with so many bytes of others behind it. @param others a certificate each, in PEM */
const withChain = (tls: FakeTls, others: string[], bytes: number): FakeTls => {
  let cert = tls.cert
  for (let i = 0; cert.length < bytes; i++) cert += `\n${others[i % others.length]}`
  return { ...tls, cert }
}

const at = (phase: keyof MxHooks, action: ReturnType<NonNullable<MxHooks['banner']>>): Pick<FakeMxOptions, 'on'> => ({
  on: { [phase]: () => action },
})

const inTls = (tls: FakeTls, on: MxHooks): Pick<FakeMxOptions, 'tls' | 'on'> => ({ tls, on })

/** @param tls of a host whose TLS is right; `others`: more certificates, in PEM */
export const hostileBehaviours = (tls: FakeTls, others: string[]): HostileBehaviour[] => [
  ...plainBehaviours,
  { name: 'TLS: resets hellos over 1,400 bytes', mx: { tls }, resetsHello: ({ bytes }) => bytes > 1_400 },
  { name: 'TLS: resets the second hello', mx: { tls: { ...tls, groups: 'X25519MLKEM768' } }, resetsHello: ({ number }) => number > 1 },
  { name: 'TLS: resets every hello', mx: { tls }, resetsHello: () => true },
  { name: 'TLS: words instead of a ServerHello', mx: { tls: 'garbage' } },
  { name: 'TLS: silence after STARTTLS', mx: { tls: 'hang' } },
  { name: 'TLS: a part of a ServerHello, then silence', mx: { tls: (socket) => void socket.write(partOfHello) } },
  { name: 'TLS: a fatal alert', mx: { tls: (socket) => void socket.write(fatalAlert) } },
  { name: 'TLS: records of zeros', mx: { tls: (socket) => writeEach(socket, endlessZeros, 200) } },
  { name: 'TLS: closes at the hello', mx: { tls: (socket) => void socket.end() } },
  { name: 'TLS: a reply in plain text with the 220', mx: inTls(tls, { starttls: () => 'raw:220 2.0.0 Ready\r\n250-injected\r\n' }) },
  { name: 'TLS: half a reply in plain text with the 220', mx: inTls(tls, { starttls: () => 'raw:220 2.0.0 Ready\r\n250' }) },
  { name: 'TLS: 454 to STARTTLS', mx: inTls(tls, { starttls: () => '454 4.7.0 not now' }) },
  { name: 'TLS: closes at STARTTLS', mx: inTls(tls, { starttls: () => 'close' }) },
  { name: 'TLS: a chain of 64 KB', mx: { tls: withChain(tls, others, 64 * 1024) } },
  { name: 'TLS: a chain of 1 MB', mx: { tls: withChain(tls, others, megabyte) } },
  { name: 'TLS: asks to renegotiate', mx: { tls: { ...tls, maxVersion: 'TLSv1.2', afterHandshake: (socket) => renegotiate(socket, 1) } } },
  {
    name: 'TLS: asks to renegotiate again and again',
    mx: { tls: { ...tls, maxVersion: 'TLSv1.2', afterHandshake: (socket) => renegotiate(socket, 1_000) } },
  },
  { name: 'TLS: only 1.0 and 1.1', mx: { tls: { ...tls, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } } },
  { name: 'TLS: demands a certificate', mx: { tls: { ...tls, demandsCertificate: true } } },
  { name: 'TLS: closes after the handshake', mx: { tls: { ...tls, afterHandshake: 'close' } } },
  { name: 'TLS: resets after the handshake', mx: { tls: { ...tls, afterHandshake: 'reset' } } },
  { name: 'TLS: silence after the handshake', mx: { tls: { ...tls, afterHandshake: 'hang' } } },
  {
    name: 'TLS: endless lines in answer to EHLO',
    mx: inTls(tls, { ehlo: (_, session) => (session.tls ? { endlessly: '250-again\r\n'.repeat(4_096) } : undefined) }),
  },
  { name: 'TLS: resets within the message', mx: inTls(tls, { content: () => 'reset' }) },
]

const plainBehaviours: HostileBehaviour[] = [
  { name: 'banner: resets the connection', mx: at('banner', 'reset') },
  { name: 'banner: closes the connection', mx: at('banner', 'close') },
  { name: 'banner: silence', mx: at('banner', 'hang') },
  { name: 'banner: a byte in ten seconds', mx: at('banner', { slowly: '220 mx.test ESMTP', everyMs: 10_000 }) },
  { name: 'banner: a line of 10 MB', mx: at('banner', `220 ${'x'.repeat(10 * megabyte)}`) },
  { name: 'banner: endless bytes without a line feed', mx: at('banner', { endlessly: 'x'.repeat(65_536) }) },
  { name: 'banner: endless lines of a reply', mx: at('banner', { endlessly: '220-again\r\n'.repeat(4_096) }) },
  { name: 'banner: endless lines without a code', mx: at('banner', { endlessly: 'again\r\n'.repeat(4_096) }) },
  { name: 'banner: 421', mx: at('banner', { reply: '421 4.3.2 not now', end: 'close' }) },
  { name: 'banner: 554', mx: at('banner', { reply: '554 5.7.1 not you', end: 'close' }) },
  { name: 'banner: NUL bytes', mx: at('banner', '220 \0\0\0') },
  { name: 'banner: HTTP', mx: at('banner', { reply: 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n', end: 'close' }) },
  { name: 'banner: SSH', mx: at('banner', 'SSH-2.0-OpenSSH_9.2') },
  { name: 'banner: the reply to EHLO ahead of it', mx: at('banner', '220 mx.test\r\n250 mx.test') },
  { name: 'banner: random bytes', mx: at('banner', `raw:${createHash('sha512').update('any').digest('latin1')}`) },
  { name: 'EHLO: silence', mx: at('ehlo', 'hang') },
  { name: 'EHLO: closes the connection', mx: at('ehlo', 'close') },
  { name: 'EHLO: endless lines', mx: at('ehlo', { endlessly: '250-again\r\n'.repeat(4_096) }) },
  { name: 'EHLO: 100,000 lines', mx: at('ehlo', `${'250-X\r\n'.repeat(100_000)}250 PIPELINING`) },
  { name: 'EHLO: 550, and HELO too', mx: at('ehlo', '550 5.7.1 not you') },
  { name: 'EHLO: 421', mx: at('ehlo', '421 4.3.2 not now') },
  { name: 'EHLO: line feeds alone', mx: at('ehlo', 'raw:250-mx.test\n250 8BITMIME\n') },
  { name: 'EHLO: sizes that are none', mx: { extensions: ['SIZE -1', 'PIPELINING', '8BITMIME', 'DSN'] } },
  { name: 'EHLO: a size of many digits', mx: { extensions: [`SIZE ${'9'.repeat(400)}`] } },
  { name: 'MAIL: 421', mx: at('mail', { reply: '421 4.3.2 not now', end: 'close' }) },
  { name: 'MAIL: 451', mx: at('mail', '451 4.3.0 not now') },
  { name: 'MAIL: silence', mx: at('mail', 'hang') },
  { name: 'MAIL: resets the connection', mx: at('mail', 'reset') },
  { name: 'MAIL: 502', mx: at('mail', '502 5.5.1 what?') },
  { name: 'RCPT: 452', mx: at('rcpt', '452 4.2.2 full') },
  { name: 'RCPT: closes the connection', mx: at('rcpt', 'close') },
  { name: 'RCPT: silence', mx: at('rcpt', 'hang') },
  { name: 'RCPT: 354', mx: at('rcpt', '354 go on') },
  { name: 'RCPT: the replies to all that was pipelined, twice', mx: at('rcpt', '250 2.1.5 Ok\r\n250 2.1.5 Ok') },
  { name: 'DATA: 250', mx: at('data', '250 2.0.0 what?') },
  { name: 'DATA: 451', mx: at('data', '451 4.3.0 not now') },
  { name: 'DATA: resets the connection', mx: at('data', 'reset') },
  { name: 'DATA: silence', mx: at('data', 'hang') },
  { name: 'message: closes within it', mx: at('content', 'close') },
  { name: 'message: resets within it', mx: at('content', 'reset') },
  { name: 'message: silence within it', mx: at('content', 'hang') },
  { name: 'dot: takes it, and closes', mx: at('dot', 'close'), copies: 'any' },
  { name: 'dot: takes it, and resets', mx: at('dot', 'reset'), copies: 'any' },
  { name: 'dot: takes it, and is silent', mx: at('dot', 'hang'), copies: 'any' },
  { name: 'dot: 250, and resets', mx: at('dot', { reply: '250 2.0.0 taken', end: 'reset' }) },
  { name: 'dot: 250 twice', mx: at('dot', '250 2.0.0 taken\r\n250 2.0.0 taken') },
  { name: 'dot: 250 after a line of words', mx: at('dot', 'raw:taken\r\n250 2.0.0 taken\r\n') },
  { name: 'dot: 354', mx: at('dot', { reply: '354 go on', end: 'close' }), copies: 'twice' },
  { name: 'dot: 354 again and again', mx: at('dot', { endlessly: '354 go on\r\n'.repeat(4_096) }), copies: 'twice' },
  { name: 'dot: words', mx: at('dot', { reply: 'taken', end: 'close' }), copies: 'twice' },
  { name: 'dot: a reply that does not end', mx: at('dot', { reply: '250-taken', end: 'close' }), copies: 'twice' },
  { name: 'dot: endless lines of a reply', mx: at('dot', { endlessly: '250-taken\r\n'.repeat(4_096) }), copies: 'twice' },
  { name: 'dot: 451', mx: at('dot', '451 4.3.0 not now'), copies: 'any' },
  {
    name: 'dot: 250 a second late',
    mx: { on: { dot: () => ({ reply: '250 2.0.0 taken', after: new Promise((late) => setTimeout(late, 1_000)) }) } },
  },
  { name: 'QUIT: silence, and an open connection', mx: at('quit', 'hang') },
]

import { encodeToken, type TokenPurpose } from '../../src/platform/smtp/verp.ts'
import { composeComplaint, composeDsn, composeVacation } from '../../test/support/returned-mail.ts'

/** A recipient of the server under test, as whoever sees its mail knows it. */
export interface KnownRecipient {
  /** `rcp_…` */
  id: string
  address: string
  /** Epoch, ms. */
  createdAt: number
}

/** What a forger may know and be about: more than any real one does, since he can date tokens himself. */
export interface ForgerKnowledge {
  tokenKey: Buffer
  domain: string
  /** Mail that was delivered; nothing has come back of it. */
  delivered: KnownRecipient[]
  /** Mail that has not left yet. */
  waiting: KnownRecipient[]
  /** Mail whose bounce has come back and was settled. */
  bounced: KnownRecipient[]
  /** Mail that was complained about. */
  complained: KnownRecipient[]
}

/** A mail to the return path that must not change anything. */
interface ForgedReport {
  to: string
  text: string
}

const day = 86_400_000
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const oneOf = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T
const randomLetters = (length: number): string => Array.from({ length }, () => alphabet[Math.floor(Math.random() * 32)]).join('')

/** Every kind of forgery by its name. */
export function forgeries({
  tokenKey,
  domain,
  delivered,
  waiting,
  bounced,
  complained,
}: ForgerKnowledge): Record<string, () => ForgedReport> {
  const token = (purpose: TokenPurpose, { id, createdAt }: KnownRecipient, ageDays = 0, key = tokenKey): string =>
    encodeToken(purpose, { recipientId: id, firstDueAt: createdAt - ageDays * day }, key)
  const path = (recipient: KnownRecipient, ageDays = 0): string => `${token('bounce', recipient, ageDays)}@${domain}`
  const dsnOf = ({ address }: KnownRecipient): string => composeDsn({ recipient: address })
  const headerOf = (reference: string, { address }: KnownRecipient): string =>
    `X-Sterna-Ref: ${reference}\r\nTo: ${address}\r\nSubject: Hello`
  const complaintWith = (header: string): string => composeComplaint({ original: `${header}\r\n\r\nHello` })
  const loop = `fbl@${domain}`
  const two = (): [KnownRecipient, KnownRecipient] => {
    const first = oneOf(delivered)
    return [first, oneOf(delivered.filter((each) => each !== first))]
  }
  const changed = (text: string): string => {
    const at = 1 + Math.floor(Math.random() * (text.length - 1))
    const letters = alphabet.replace(text.charAt(at), '')
    return text.slice(0, at) + letters[Math.floor(Math.random() * 31)] + text.slice(at + 1)
  }
  return {
    'an address that was never ours': () => ({ to: `${oneOf(delivered).address.split('@')[0]}@${domain}`, text: dsnOf(oneOf(delivered)) }),
    'a token out of thin air': () => ({ to: `b${randomLetters(46)}@${domain}`, text: dsnOf(oneOf(delivered)) }),
    'a token with one letter changed': () => {
      const about = oneOf(delivered)
      return { to: `${changed(token('bounce', about))}@${domain}`, text: dsnOf(about) }
    },
    'a token made with another key': () => {
      const about = oneOf(delivered)
      return { to: `${token('bounce', about, 0, Buffer.alloc(32, Math.random() * 256))}@${domain}`, text: dsnOf(about) }
    },
    'a token whose time is over': () => {
      const about = oneOf(delivered)
      return { to: path(about, 40), text: dsnOf(about) }
    },
    'a reference for an address': () => {
      const about = oneOf(delivered)
      return { to: `${token('reference', about)}@${domain}`, text: dsnOf(about) }
    },
    'the token of one, a bounce of another': () => {
      const [stolen, victim] = two()
      return { to: path(stolen), text: dsnOf(victim) }
    },
    'the token of one, a bounce with the message of another': () => {
      const [stolen, victim] = two()
      return { to: path(stolen), text: composeDsn({ recipient: victim.address, original: headerOf(token('reference', victim), victim) }) }
    },
    'the token of one, a complaint of another': () => {
      const [stolen, victim] = two()
      return { to: path(stolen), text: complaintWith(headerOf(randomLetters(47), victim)) }
    },
    'a bounce again': () => {
      const about = oneOf(bounced)
      return { to: path(about), text: dsnOf(about) }
    },
    'a bounce of mail that has not left': () => {
      const about = oneOf(waiting)
      return { to: path(about), text: dsnOf(about) }
    },
    'a delay': () => {
      const about = oneOf(delivered)
      return { to: path(about), text: composeDsn({ recipient: about.address, action: 'delayed', status: '4.4.1' }) }
    },
    'an automatic reply': () => ({ to: path(oneOf(delivered)), text: composeVacation() }),
    'a complaint without a token': () => ({ to: loop, text: complaintWith(`To: ${oneOf(delivered).address}\r\nSubject: Hello`) }),
    'a complaint with a token out of thin air': () => ({
      to: loop,
      text: complaintWith(headerOf(`r${randomLetters(46)}`, oneOf(delivered))),
    }),
    'a complaint with a token whose time is over': () => {
      const about = oneOf(delivered)
      return { to: loop, text: complaintWith(headerOf(token('reference', about, 120), about)) }
    },
    'a complaint again': () => {
      const about = oneOf(complained)
      return { to: loop, text: complaintWith(headerOf(token('reference', about), about)) }
    },
    'a complaint of mail that has not left': () => {
      const about = oneOf(waiting)
      return { to: loop, text: complaintWith(headerOf(token('reference', about), about)) }
    },
  }
}

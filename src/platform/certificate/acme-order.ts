import { setTimeout as sleep } from 'node:timers/promises'
import { AcmeProblem, problemOf } from './acme-problem.ts'
import type { AcmeResponse, AcmeSession } from './acme-session.ts'
import type { ChallengeAnswers, ChallengeType } from './challenge-answers.ts'
import { newKeyPair, pemOf, signingRequest } from './signing-request.ts'

interface OrderServices {
  session: AcmeSession
  answers: ChallengeAnswers
  signal: AbortSignal
}

/** How long an authority may take for one step, ms. */
const patienceMs = 120_000
/** Between questions, ms. */
const [minPause, maxPause] = [250, 15_000]

/** An order that the authority has accepted. */
export interface Order {
  name: string
  url: string
  authorizations: string[]
  finalize: string
}

/**
 * Orders a certificate for one name (RFC 8555 7.4).
 * @throws AcmeProblem
 */
export async function placeOrder(name: string, session: AcmeSession): Promise<Order> {
  const { body, location } = await session.post(await session.urlOf('newOrder'), { identifiers: [{ type: 'dns', value: name }] })
  if (location === null) throw new AcmeProblem('malformed', 'the order has no URL')
  return { name, url: location, authorizations: textsIn(body['authorizations']), finalize: textIn(body, 'finalize') }
}

/** An order that was placed before and is not filled; null if it cannot be any more. */
export async function reopenOrder(name: string, url: string, session: AcmeSession): Promise<Order | null> {
  try {
    const { body } = await session.post(url, null)
    if (!['pending', 'ready'].includes(String(body['status']))) return null
    return { name, url, authorizations: textsIn(body['authorizations']), finalize: textIn(body, 'finalize') }
  } catch (error) {
    if (error instanceof AcmeProblem && error.type !== 'unreachable') return null
    throw error
  }
}

/**
 * Proves that the name of an order is ours, and gets the certificate.
 * @param type the kind of challenge to answer
 * @returns both in PEM
 * @throws AcmeProblem
 */
export async function fillOrder(
  { name, url, authorizations, finalize }: Order,
  type: ChallengeType,
  services: OrderServices,
): Promise<{ chain: string; key: string }> {
  const { session } = services
  for (const authorization of authorizations) await authorize(authorization, { name, type }, services)
  const ready = await settled(url, 'the order', services)
  if (ready['status'] === 'invalid') throw problemOf(ready['error'])
  const keys = await newKeyPair()
  await session.post(finalize, { csr: signingRequest(name, keys).toString('base64url') })
  const done = await settled(url, 'the certificate', services)
  if (done['status'] !== 'valid') throw problemOf(done['error'])
  const { text } = await session.post(textIn(done, 'certificate'), null)
  return { chain: text, key: pemOf(keys) }
}

/** Proves that the name is ours, unless the authority still knows it. */
async function authorize(url: string, { name, type }: { name: string; type: ChallengeType }, services: OrderServices): Promise<void> {
  const { session, answers } = services
  const { body } = await session.post(url, null)
  if (body['status'] === 'valid') return
  const challenge = objectsIn(body['challenges']).find((offered) => offered['type'] === type)
  if (!challenge) throw new AcmeProblem('unsupported', `the authority does not offer ${type}; set acme.challenges to what it offers`)
  const token = textIn(challenge, 'token')
  const hide = await answers.show({ type, name, token, keyAuthorization: session.keyAuthorization(token) })
  try {
    await session.post(textIn(challenge, 'url'), {})
    const done = await settled(url, 'the check of the name', services)
    if (done['status'] !== 'valid') throw problemOf(objectsIn(done['challenges']).find(({ error }) => error !== undefined)?.['error'])
  } finally {
    // It expires in any case.
    await hide().catch(() => {})
  }
}

/** Asks until an order or an authorization is no longer being worked on. */
async function settled(url: string, what: string, { session, signal }: OrderServices): Promise<Record<string, unknown>> {
  const startedAt = performance.now()
  for (let pause = minPause; performance.now() - startedAt < patienceMs; pause = Math.min(pause * 2, maxPause)) {
    const response: AcmeResponse = await session.post(url, null)
    if (!['pending', 'processing'].includes(String(response.body['status']))) return response.body
    await sleep(Math.max(pause, Math.min(response.retryAfterMs ?? 0, maxPause)), undefined, { signal })
  }
  throw new AcmeProblem('unreachable', `${what} was not finished within two minutes`)
}

function textIn(body: Record<string, unknown>, member: string): string {
  const value = body[member]
  if (typeof value === 'string') return value
  throw new AcmeProblem('malformed', `the authority's response has no ${member}`)
}

const textsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])

const objectsIn = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : []

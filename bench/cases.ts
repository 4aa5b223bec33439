import type { Load } from './burst.ts'

export interface Case {
  /** For the help, the table of figures, and docs/performance.md. */
  meaning: string
  load: Omit<Load, 'messages' | 'recipientDomains'>
  /** The share of `--messages` that is sent: fewer of those that cost more. */
  share: number
  /** Every event is posted to an endpoint. */
  webhooks?: boolean
  /** Whether Postfix with OpenDKIM can do the same. */
  postfix: boolean
}

const usual = { size: 2048, connections: 10, perConnection: 10 }
const of = (meaning: string, load: Partial<Load>, more: Partial<Case> = {}): Case => ({
  meaning,
  load: { ...usual, ...load },
  share: 1,
  postfix: true,
  ...more,
})

/** What `--case` knows, each a load of its own: 10 connections, 10 messages a connection, 2 KB, no TLS, unless it says otherwise. */
export const cases: Record<string, Case> = {
  '2kb': of('2 KB', {}),
  '50kb': of('50 KB', { size: 51_200 }, { share: 1 / 2 }),
  '100kb': of('100 KB', { size: 102_400 }, { share: 1 / 4 }),
  '1mb': of('1 MB', { size: 1_048_576 }, { share: 1 / 20 }),
  'one-message': of('one message a connection', { perConnection: 1 }, { share: 1 / 2 }),
  'one-connection': of('one connection', { connections: 1, perConnection: 100 }, { share: 1 / 4 }),
  '100-connections': of('100 connections', { connections: 100 }),
  starttls: of('STARTTLS both ways', { starttls: true }, { share: 1 / 2 }),
  'starttls-50kb': of('STARTTLS both ways, 50 KB', { starttls: true, size: 51_200 }, { share: 1 / 4 }),
  'starttls-one-message': of('STARTTLS both ways, one message a connection', { starttls: true, perConnection: 1 }, { share: 1 / 4 }),
  'starttls-new-clients': of(
    'STARTTLS both ways, one message a connection, from clients that resume no session',
    { starttls: true, perConnection: 1, newClients: true },
    { share: 1 / 4 },
  ),
  links: of('mail with four links, not tracked', { tracked: false }),
  tracking: of('mail with four links, opens and clicks tracked', { tracked: true }, { postfix: false }),
  webhooks: of('every event posted to an endpoint', {}, { webhooks: true, postfix: false }),
}

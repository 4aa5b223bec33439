import type { Attempt } from '../delivery/attempt.ts'
import { mxProviderOf } from '../delivery/mx-provider.ts'
import type { Transport } from '../delivery/transport-facts.ts'
import { newId } from '../../platform/id.ts'
import type { TransferOptions } from '../../mail/message/transfer-options.ts'
import type { RecipientType } from '../../mail/message/envelope.ts'
import type { ClaimRange } from '../../platform/store/claims.ts'
import type { Statement } from '../../platform/store/database.ts'
import type { TrackingOptions } from '../../mail/message/tracking-options.ts'
import type { Move, RecipientState } from './recipient-state.ts'

/** What the queue knows about a message to be delivered. */
export interface QueuedMessage {
  id: string
  accountId: string
  /** Null in the sandbox. */
  domainId: string | null
  sandbox: boolean
  subject: string
  /** bytes */
  size: number
  bodyType: '7bit' | '8bitmime'
  smtputf8: boolean
  /** True if the submitter used the null reverse-path: nobody is notified of the outcome. */
  nullReversePath: boolean
  /** The value of its first tag. */
  feedbackTag: string | null
  /** What its readers can unsubscribe from: '' if it has no topic, null if they cannot. */
  unsubscribeTopic: string | null
  /** What is tracked in it; null: nothing. */
  tracking: TrackingOptions | null
  /** True if the submitter set the time when it leaves. */
  isScheduled: boolean
  /** True if the submitter set an expiry: it does not leave after that. */
  neverLate: boolean
  /** What is asked of its transfer; null: nothing. */
  transfer: TransferOptions | null
  /** When it was first due, epoch ms: its recipients' tokens expire counted from then. */
  firstDueAt: number
}

/** A recipient claimed by this process. */
export interface QueuedRecipient {
  id: string
  forwardPath: string
  /** Domain of the forward-path. */
  destination: string
  lane: Lane
  attempts: number
  /** When it was due, epoch ms. */
  dueAt: number
  /** Epoch, ms. */
  expiresAt: number
  /** The result of the last attempt; null before the first. */
  lastResponse: string | null
  smtpCode: number | null
  enhancedStatus: string | null
  /** Since when the DNS has said that its mail has nowhere to go, epoch ms; null if it did not say so at the last attempt. */
  nxdomainSince: number | null
  /** True if the address was suppressed while the message waited. */
  suppressed: boolean
}

/** The row of a new recipient, by column. */
export type NewRecipient = {
  id: string
  message_id: string
  account_id: string
  forward_path: string
  destination: string
  type: RecipientType
  notify: string | null
  orcpt: string | null
  state: RecipientState
  due_at: number | null
  /** 1: it goes ahead of mail that is not. */
  urgent: 0 | 1
  /** The name of this process if it continues in memory, else null: it waits in the queue. */
  owner: string | null
  expires_at: number
}

/** Which mail waits together: that of one account for one destination, urgent or not. The lanes of a destination take turns. */
export type Lane = Pick<NewRecipient, 'destination' | 'account_id' | 'urgent'>

/** A recipient that will be tried. */
export type WaitingRecipient = NewRecipient & { due_at: number }

export const isWaiting = <R extends NewRecipient>(recipient: R): recipient is R & WaitingRecipient => recipient.due_at !== null

export const insertRecipient = (recipient: NewRecipient): Statement => ({
  sql: `insert into recipient
          (id, message_id, account_id, forward_path, destination, type, notify, orcpt, state, due_at, urgent, owner, expires_at)
        values
          (:id, :message_id, :account_id, :forward_path, :destination, :type, :notify, :orcpt, :state, :due_at, :urgent, :owner, :expires_at)`,
  params: recipient,
})

/** A lane with waiting mail, and when its first mail is due. */
export type WaitingLane = Lane & Pick<WaitingRecipient, 'due_at'>

const waitingLanesWhere = (condition: string): string => `
  select destination, account_id, urgent, min(due_at) as due_at from recipient
   where due_at is not null and owner is null and held = 0 ${condition}
   group by destination, account_id, urgent`

/** Every lane with waiting mail. Uses the partial index recipient_due. */
export const waitingLanes = waitingLanesWhere('')

/** Those of one destination. */
export const waitingLanesOf = waitingLanesWhere('and destination = :destination')

/** What the queue needs from the row of a recipient. */
export type Claimable = Pick<WaitingRecipient, 'id' | 'message_id' | 'forward_path' | 'destination' | 'due_at' | 'expires_at'>

/** What the row says about the attempts so far; a new one says nothing. */
export type PastAttempts = {
  attempts: number
  last_response: string | null
  smtp_code: number | null
  enhanced_status: string | null
  absent_since: number | null
}

export type ClaimedRow = Claimable & PastAttempts

/** A row of mail that has expired, of whatever lane. */
export type ExpiredRow = ClaimedRow & Lane

const claimed =
  'id, message_id, forward_path, destination, due_at, expires_at, attempts, last_response, smtp_code, enhanced_status, absent_since'

/**
 * Claims due mail of a lane, oldest first, and returns when the next of it is due. The rows are in no particular order. Uses the partial
 * index recipient_due.
 */
export const claimDue = ({ destination, account_id, urgent }: Lane, claim: ClaimRange): Statement[] => [
  {
    sql: `update recipient
             set owner = :owner, state = case when state = 'scheduled' then 'queued' else state end
           where id in (
             select id from recipient
              where destination = :destination and account_id = :account_id and urgent = :urgent
                and due_at is not null and owner is null and held = 0 and due_at <= :now
              order by due_at limit :limit offset :skip) and owner is null
           returning ${claimed}`,
    params: { ...claim, destination, account_id, urgent },
  },
  {
    sql: `select due_at from recipient
           where destination = :destination and account_id = :account_id and urgent = :urgent
             and due_at is not null and owner is null and held = 0
           order by due_at limit 1 offset :skip`,
    params: { destination, account_id, urgent, skip: claim.skip },
  },
]

const expired = 'destination = :destination and due_at is not null and owner is null and held = 0 and expires_at <= :now'

/** Whether any waiting mail for a destination has expired. Uses the partial index recipient_expiry. */
export const anyExpired = `select destination from recipient where ${expired} limit 1`

/** Claims expired mail for a destination, in no particular order. Uses the partial index recipient_expiry. */
export const claimExpired = (destination: string, claim: ClaimRange): Statement[] => [
  {
    sql: `update recipient
             set owner = :owner, state = case when state = 'scheduled' then 'queued' else state end
           where id in (select id from recipient where ${expired} order by expires_at limit :limit offset :skip) and owner is null
           returning ${claimed}, account_id, urgent`,
    params: { ...claim, destination },
  },
]

/** What is stored about the reply or failure that decided a recipient's state. */
export interface LastResponse {
  text: string | null
  code: number | null
  enhancedStatus: string | null
}

/**
 * Changes the state of a claimed recipient. Must come first in its batch: if the recipient was canceled or taken over in the meantime,
 * nothing of the batch is written.
 */
export function moveRecipient(
  id: string,
  owner: string,
  move: Move,
  context: {
    attempted: boolean
    last: LastResponse
    nxdomainSince: number | null
    mxHost?: string | null
    transport?: Transport | null
    now: number
  },
): Statement {
  const { attempted, last, nxdomainSince, mxHost = null, transport = null, now } = context
  return {
    sql: `update recipient
             set state = :state, due_at = :dueAt, owner = null, attempts = attempts + :attempted,
                 last_response = :text, smtp_code = :code, enhanced_status = :enhancedStatus, absent_since = :nxdomainSince,
                 provider = coalesce(:provider, provider), encrypted = coalesce(:encrypted, encrypted), sent_at = coalesce(sent_at, :sentAt),
                 delivered_at = coalesce(delivered_at, :deliveredAt), bounced_at = coalesce(bounced_at, :bouncedAt)
           where id = :id and owner = :owner and state in ('queued', 'deferred')`,
    params: {
      id,
      owner,
      state: move.state,
      dueAt: move.dueAt,
      attempted: attempted ? 1 : 0,
      text: last.text,
      code: last.code,
      enhancedStatus: last.enhancedStatus,
      nxdomainSince,
      provider: mxHost === null ? null : mxProviderOf(mxHost),
      encrypted: transport === null ? null : transport === 'plain' ? 0 : 1,
      sentAt: sentAtOf(move),
      deliveredAt: move.state === 'delivered' ? now : null,
      bouncedAt: move.events.some(({ type }) => type === 'email.bounced') ? now : null,
    },
    expect: 1,
  }
}

/** Moves a waiting recipient to its final state. Must come first in its batch, like `moveRecipient`. */
export const endWaiting = (id: string, move: Move, now: number): Statement => ({
  sql: `update recipient
           set state = :state, due_at = null, held = 0, sent_at = coalesce(sent_at, :sentAt), bounced_at = coalesce(bounced_at, :now)
         where id = :id and owner is null and due_at is not null and state in ('queued', 'deferred')`,
  params: { id, state: move.state, sentAt: sentAtOf(move), now },
  expect: 1,
})

const sentAtOf = ({ events }: Move): number | null => events.find(({ type }) => type === 'email.sent')?.at ?? null

/** @param times epoch, ms */
export function insertAttempt(attempt: Attempt, messageId: string, times: { beganAt: number; endedAt: number }): Statement {
  const { outcome } = attempt
  return {
    sql: `insert into attempt
            (id, recipient_id, message_id, started_at, duration_ms, outcome, mx_host, address, source_address, tls, selectors, reply,
             smtp_code, enhanced_status, transcript)
          values
            (:id, :recipientId, :messageId, :startedAt, :durationMs, :outcome, :mxHost, :address, :sourceAddress, :tls, :selectors, :reply,
             :code, :enhancedStatus, :transcript)`,
    params: {
      id: newId('att', times.endedAt),
      recipientId: attempt.recipientId,
      messageId,
      startedAt: times.beganAt,
      durationMs: attempt.durationMs,
      outcome: outcome.type,
      mxHost: attempt.mxHost,
      address: attempt.address,
      sourceAddress: attempt.sourceAddress,
      tls: attempt.tls,
      selectors: attempt.selectors.join(','),
      reply: outcome.type === 'delivered' ? outcome.reply.text : outcome.reason,
      code: outcome.reply?.code ?? null,
      enhancedStatus: outcome.reply?.enhancedStatus ?? null,
      transcript: attempt.transcript,
    },
  }
}

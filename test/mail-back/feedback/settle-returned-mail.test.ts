import { expect, test } from 'vitest'
import type { FeedbackSubject } from '../../../src/mail-back/feedback/feedback-subject.ts'
import { settleBounce, settleComplaint } from '../../../src/mail-back/feedback/settle-returned-mail.ts'
import type { Statement } from '../../../src/platform/store/database.ts'
import { suppressAtOnce } from '../../support/suppress-at-once.ts'

const subject = (destination: string): FeedbackSubject => ({
  forwardPath: `ann@${destination}`,
  destination,
  state: 'delivered',
  isInHand: false,
  deliveredAt: 1,
  complainedAt: null,
  event: { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcp_1', to: `ann@${destination}`, subject: 'Hello', sandbox: false },
})
const bounce = { hard: true, category: 'invalid_recipient', status: '5.1.1', smtpCode: 550, reason: '550 5.1.1 no' } as const
const complaint = { feedbackType: 'abuse', reportedBy: 'ProviderFBL/1.0' }
const suppressions = (batch: Statement[]): Statement[] => batch.filter(({ sql }) => sql.includes('into suppression'))

test('a bounce or complaint suppresses the address, with the reason', () => {
  expect(suppressions(settleBounce(subject('rcpt.example'), bounce, suppressAtOnce, 7))).toMatchObject([
    { params: { address: 'ann@rcpt.example', reason: bounce.reason } },
  ])
  const reason = 'Complaint (abuse) reported by ProviderFBL/1.0'
  expect(suppressions(settleComplaint(subject('rcpt.example'), complaint, suppressAtOnce, 7))).toMatchObject([
    { params: { origin: 'complaint', reason } },
  ])
  expect(suppressions(settleComplaint(subject('rcpt.example'), { ...complaint, reportedBy: null }, suppressAtOnce, 7))).toMatchObject([
    { params: { reason: 'Complaint (abuse)' } },
  ])
})

test('feedback from the simulator suppresses nobody', () => {
  const simulated = subject('simulator.test')
  expect(
    suppressions([...settleBounce(simulated, bounce, suppressAtOnce, 7), ...settleComplaint(simulated, complaint, suppressAtOnce, 7)]),
  ).toEqual([])
})

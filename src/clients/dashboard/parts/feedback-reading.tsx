import { useApi } from '../api/cache.ts'
import type { FeedbackDetail } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Facts, Fact, Unfold } from './page.tsx'

/** What a returned message says, read when it is opened. Nobody vouches for it. */
export const FeedbackReading = ({ id }: { id: string }) => <Unfold word={t.reports.contents}>{() => <Reading id={id} />}</Unfold>

function Reading({ id }: { id: string }) {
  const detail = useApi<FeedbackDetail>(`/api/feedback/${id}`)
  return (
    <Answer of={detail} rows={2}>
      {({ reading, heading, fault, address, size, tls }) => (
        <Facts>
          {reading && (
            <>
              <Fact name={t.reports.class}>{t.reports.classes[reading.class] ?? reading.class}</Fact>
              <Fact name={t.common.subject}>{reading.subject}</Fact>
              <Fact name={t.reports.reportedBy}>{reading.reported_by}</Fact>
              {reading.recipients.map((recipient, place) => (
                <RecipientFact key={place} recipient={recipient} />
              ))}
            </>
          )}
          <Fact name={t.common.from}>{heading?.from}</Fact>
          <Fact name={t.common.subject}>{heading?.subject}</Fact>
          <Fact name={t.reports.fault}>{fault}</Fact>
          <Fact name={t.reports.cameTo}>
            {address}, {t.reports.bytes(size)}, {tls ? t.reports.withTls : t.reports.withoutTls}
          </Fact>
        </Facts>
      )}
    </Answer>
  )
}

type Recipient = NonNullable<FeedbackDetail['reading']>['recipients'][number]

const RecipientFact = ({ recipient: { address, action, hard, category, reason } }: { recipient: Recipient }) => (
  <Fact name={address ?? t.reports.noAddress}>
    {t.reports.actions[action] ?? action}
    {action === 'failed' && `, ${t.email.bounceType[hard ? 'hard' : 'soft']}: ${t.causes[category] ?? category}`}
    {reason !== '' && ' '}
    {reason !== '' && <code>{reason}</code>}
  </Fact>
)

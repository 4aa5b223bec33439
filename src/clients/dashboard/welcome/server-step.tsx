import type { Resource } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Doctor } from '../api/types.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton } from '../parts/button.tsx'
import { Unfold } from '../parts/page.tsx'
import { inWords } from '../say.ts'
import { t } from '../texts/texts.ts'

const order = ['failed', 'warning']

/** Whether this server is fit to send: what is wrong first, with what to do. */
export function ServerStep({ of: doctor }: { of: Resource<Doctor> }) {
  const again = async (): Promise<void> => {
    await call('/api/doctor')
    await doctor.reload()
  }
  return (
    <>
      {doctor.data === undefined && !doctor.error && <p class="sum">{t.welcome.checking}</p>}
      <Answer of={doctor}>
        {({ findings }) => {
          const troubled = findings
            .filter(({ status }) => order.includes(status))
            .toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
          return (
            <>
              <p class="sum">
                {t.welcome.checksFine(findings.filter(({ status }) => status === 'ok').length, findings.length)}{' '}
                <ActionButton look="small" text={t.common.checkAgain} icon="redo" run={again} />
              </p>
              {troubled.map((finding, place) => (
                <Trouble key={`${finding.check} ${place}`} finding={finding} />
              ))}
            </>
          )
        }}
      </Answer>
    </>
  )
}

function Trouble({ finding }: { finding: Doctor['findings'][number] }) {
  const { check, status } = finding
  const { what, advice } = inWords('findings', finding)
  return (
    <Unfold
      open={status === 'failed'}
      word={
        <span>
          <b>{t.health.checks[check] ?? check}</b>: {t.status[status]}
        </span>
      }
    >
      {() => (
        <>
          <p class="sum">{what}</p>
          {advice !== null && <p class="sum">{advice}</p>}
        </>
      )}
    </Unfold>
  )
}

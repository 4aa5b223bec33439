import { signal } from '@preact/signals'
import { age, ago, fullTime } from '../format.ts'
import { t } from '../texts/texts.ts'

/** Ticks so that ages stay right. */
const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 5_000)

/** How long ago, in a cell; the exact time on hover. */
export const Age = ({ of: time }: { of: string | null }) =>
  time === null ? (
    <>{t.time.never}</>
  ) : (
    <time dateTime={time} title={`${fullTime(time)} (${time})`}>
      {age(time, Math.max(now.value, Date.now()))}
    </time>
  )

/** The same in a sentence. */
export const Ago = ({ of: time }: { of: string }) => (
  <time dateTime={time} title={`${fullTime(time)} (${time})`}>
    {ago(time, Math.max(now.value, Date.now()))}
  </time>
)

import { useState } from 'preact/hooks'
import { session } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { SecondFactorSetup } from '../parts/second-factor.tsx'
import { t } from '../texts/texts.ts'

/** Who owns the account; offers the second factor. */
export function OwnerStep() {
  const [isSettingUp, setSettingUp] = useState(false)
  const user = session.value?.user
  if (!user) return null
  if (user.second_factor) return <p class="sum">{t.welcome.ownerTwo(user.email)}</p>
  return (
    <>
      <p class="sum">
        {t.welcome.ownerOne(user.email)}{' '}
        {!isSettingUp && <Button look="small" text={t.welcome.secondFactor} onClick={() => setSettingUp(true)} />}
      </p>
      {isSettingUp && (
        <section class="panel" aria-label={t.secondFactor.heading}>
          <div class="body">
            <SecondFactorSetup onDone={() => setSettingUp(false)} />
          </div>
        </section>
      )}
    </>
  )
}

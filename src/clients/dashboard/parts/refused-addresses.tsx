import type { RefusedAddress } from '../add-suppressions.ts'
import { t } from '../texts/texts.ts'
import { Scroll } from './page.tsx'

const mostShown = 50

/** Addresses that the API did not take, with their lines and why. */
export const Refused = ({ rows }: { rows: readonly RefusedAddress[] }) => (
  <Scroll name={t.suppressions.refused}>
    <table class="tight">
      <thead>
        <tr>
          <th scope="col" class="num">
            {t.suppressions.line}
          </th>
          <th scope="col">{t.suppressions.address}</th>
          <th scope="col">{t.suppressions.whyRefused}</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, mostShown).map(({ line, address, why }) => (
          <tr key={`${line} ${address}`}>
            <td class="num">{line}</td>
            <td>{address}</td>
            <td class="muted">{why}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
)

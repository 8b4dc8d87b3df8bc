import { useEffect } from 'preact/hooks';
import { useOwnUser } from './me.ts';
import { useUsers } from './use-users.ts';

/** Asks which user a page is about. One who has their own sessions only is not asked. */
export function UserChoice(props: { userId: string; label: string; onChoose: (userId: string) => void }) {
  const { userId, label, onChoose } = props;
  const own = useOwnUser();
  const users = useUsers();
  useEffect(() => {
    if (own !== null && userId !== own) onChoose(own);
  }, [own, userId]);
  if (own !== null) return null;
  return (
    <form
      class="filters"
      onSubmit={event => {
        event.preventDefault();
        onChoose(String(new FormData(event.currentTarget).get('user')).trim());
      }}
    >
      <label>
        {label}
        <input name="user" list="users" defaultValue={userId} key={userId} autocomplete="off" />
      </label>
      <datalist id="users">
        {users.map(user => (
          <option value={user} />
        ))}
      </datalist>
      <button type="submit">Show</button>
    </form>
  );
}

import { useUsers } from './use-users.ts';

/** Asks which user a page is about. */
export function UserChoice(props: { userId: string; label: string; onChoose: (userId: string) => void }) {
  const { userId, label, onChoose } = props;
  const users = useUsers();
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

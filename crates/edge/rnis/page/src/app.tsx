// The views of the page.

import { Frame, type View } from "kit/frame";
import { useEffect } from "preact/hooks";
import { recordOverviews } from "./overviews";
import { NetworkView } from "./views/network";
import { NotificationsView } from "./views/notifications";
import { OverviewView } from "./views/overview";
import { SubscriptionsView } from "./views/subscriptions";

const VIEWS: View[] = [
  { name: "overview", title: "Overview", View: OverviewView },
  { name: "subscriptions", title: "Subscriptions", View: SubscriptionsView },
  { name: "notifications", title: "Notifications", View: NotificationsView },
  { name: "network", title: "Network", View: NetworkView },
];

export function App() {
  useEffect(() => recordOverviews(), []);
  const roles = (
    <>
      The page shows all applications, so it requires the role <code>control</code>.
    </>
  );
  return <Frame title="ferric RNIS" views={VIEWS} roles={roles} />;
}
